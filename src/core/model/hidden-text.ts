/**
 * Messages in one conversation, or not yet in any, whose text has this beginning and length. It is data, not SQL: it
 * passes to the reader thread, and only the core turns it into SQL.
 */
export interface HiddenText {
  readonly chat: string;
  readonly start: string;
  readonly length: number;
}

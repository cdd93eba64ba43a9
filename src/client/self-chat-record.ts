/**
 * The self-chat as the API shows it: the owner's conversation with themselves. There the owner decides about held
 * sends, with a tapback on the message that asks (decision L6).
 */
export interface SelfChatRecord {
  /** The configured address of the owner. */
  readonly address: string;
  /** Null until the owner has proved the conversation, by entering the code that Postern sent to it. */
  readonly conversation_id: string | null;
  readonly proved_at: string | null;
}

/** A file that a client put here, to send it. */
export interface Upload {
  readonly id: string;
  /** What the receiver sees. */
  readonly name: string;
  readonly mime_type: string;
  readonly bytes: number;
  /** When it is removed, if it was not sent. */
  readonly expires_at: string;
}

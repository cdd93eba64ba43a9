/** Maximum number of files in one send, and maximum size of each file in bytes (decisions D7, R1). */
export const MAX_ATTACHMENTS = 10;
export const MAX_ATTACHMENT_BYTES = 100_000_000;

/** A file that a client uploaded in order to send it. */
export interface Upload {
  readonly id: string;
  /** The name that the receiver sees. */
  readonly name: string;
  readonly mime_type: string;
  readonly bytes: number;
  /** The file is removed at this time if it has not been sent by then. */
  readonly expires_at: string;
}

/** The size of files that a key has stored here. */
export interface StoredBytes {
  readonly keyId: string;
  readonly bytes: number;
}

/** Maximum size in bytes of all uploads, and of the files of all sends that wait, together (decision R1). */
export const MAX_KEPT_BYTES = 1_000_000_000;

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

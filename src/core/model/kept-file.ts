/** A copy of a file that a held or deferred send attaches, made when the send was taken. */
export interface KeptFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

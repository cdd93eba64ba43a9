/** A file of a held send, copied when the send was held. */
export interface HeldFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

import type { Upload } from '../upload.ts';

/** A file on its way. */
export interface IncomingFile {
  /** As the client gave it: anything. */
  readonly name: string;
  readonly mimeType: string | undefined;
  readonly content: AsyncIterable<Uint8Array>;
}

/** A file that is to be sent. */
export interface UploadedFile {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly path: string;
  /** It was sent, and its content removed. What remains tells a repeat of that send. */
  readonly isGone: boolean;
}

/** The uploads of one caller (decision R1): those of others are not there. */
export interface Uploads {
  /** Keeps what arrives. Throws `upload_too_large`, `no_room_for_upload` or `too_many_uploads`, and leaves nothing then. */
  add(file: IncomingFile): Promise<Upload>;
  /** Throws `upload_not_found` naming every id that is not there. */
  files(ids: readonly string[]): readonly UploadedFile[];
  /** Removes the content of what was sent. */
  discard(ids: readonly string[]): Promise<void>;
  /** Removes what is not to be sent. */
  remove(ids: readonly string[]): Promise<void>;
}

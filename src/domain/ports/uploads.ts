import type { Upload } from '../upload.ts';

/** A file being uploaded. */
export interface IncomingFile {
  /** As the client sent it: any text. */
  readonly name: string;
  readonly mimeType: string | undefined;
  readonly content: AsyncIterable<Uint8Array>;
}

/** An uploaded file to send. */
export interface UploadedFile {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly path: string;
  /** True once it was sent and its content removed. The record remains to recognize a repeat of that send. */
  readonly isGone: boolean;
}

/** The uploads of one caller (decision R1). Those of others do not exist for it. */
export interface Uploads {
  /**
   * Stores an arriving file. Throws `upload_too_large`, `no_room_for_upload` or `too_many_uploads`, and then leaves
   * nothing.
   */
  add(file: IncomingFile): Promise<Upload>;
  /** Throws `upload_not_found` with every id that does not exist. */
  files(ids: readonly string[]): readonly UploadedFile[];
  /** Removes the content of sent files. */
  discard(ids: readonly string[]): Promise<void>;
  /** Removes files that will not be sent. */
  remove(ids: readonly string[]): Promise<void>;
}

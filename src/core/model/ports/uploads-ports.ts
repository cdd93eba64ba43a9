import type { Upload } from '../upload.ts';

/** A file being uploaded. */
export interface IncomingFile {
  /** The file's name exactly as the client sent it. May be any text. */
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
  /**
   * True once the file was sent and its content removed. The record stays, so that a repeat of the send is recognised.
   */
  readonly isGone: boolean;
}

/** The uploads of one caller (decision R1). Other callers' uploads do not exist for it. */
export interface Uploads {
  /**
   * Stores an arriving file. Throws `upload_too_large`, `storage_full` or `too_many_uploads`; then nothing is
   * stored.
   */
  add(file: IncomingFile): Promise<Upload>;
  /** Returns the files with these ids. Throws `upload_not_found` with every unknown id. */
  files(ids: readonly string[]): readonly UploadedFile[];
  /** Renames a file, and returns it. Makes the name safe as `add` does. Throws `upload_not_found`. */
  rename(id: string, name: string): Promise<UploadedFile>;
  /** Removes the content of files that were sent. Their records stay, so that a repeat of the send is recognised. */
  discard(ids: readonly string[]): Promise<void>;
  /** Removes the content and the records of files that will not be sent. */
  remove(ids: readonly string[]): Promise<void>;
}

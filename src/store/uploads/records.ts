import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What is known of an upload, in a file beside its folder. */
export interface UploadRecord {
  readonly id: string;
  readonly keyId: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly expiresMs: number;
  readonly isGone: boolean;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function recordPath(folder: string, id: string): string {
  return join(folder, `${id}.json`);
}

/** Whole or not at all. */
export async function writeRecord(folder: string, record: UploadRecord): Promise<void> {
  const path = recordPath(folder, record.id);
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

export async function removeRecord(folder: string, id: string): Promise<void> {
  await rm(recordPath(folder, id), { force: true });
}

/** undefined for anything that `writeRecord` did not write. */
export async function readRecord(path: string): Promise<UploadRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(path, 'utf8')) as UploadRecord;
    const { id, keyId, name, mimeType, bytes, sha256, expiresMs, isGone } = record;
    const texts = [id, keyId, name, mimeType, sha256].every((text) => typeof text === 'string' && text !== '');
    const numbers = [bytes, expiresMs].every((value) => Number.isSafeInteger(value));
    return texts && numbers && typeof isGone === 'boolean' && ID.test(id) && !/[/\0]/.test(name) ? record : undefined;
  } catch {
    return undefined;
  }
}

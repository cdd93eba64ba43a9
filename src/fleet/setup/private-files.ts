import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';

/** A folder for its owner alone. */
export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Writes a file for its owner alone, whole or not at all. */
export function writePrivate(path: string, text: string | Uint8Array): void {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}

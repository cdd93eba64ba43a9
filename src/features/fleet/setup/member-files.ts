import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUser } from '@nats-io/nkeys';

/** Names of the files that a hub or a Mac needs besides its config.toml. */
export const MEMBER_FILES = { key: 'nats.key', content: 'content.key', authority: 'ca.pem' } as const;

/** Writes the files of a joining machine into `folder`. Skips each file whose text is empty. */
export function writeMemberFiles(folder: string, files: Readonly<Record<keyof typeof MEMBER_FILES, string>>): void {
  privateFolder(folder);
  for (const file of ['key', 'content', 'authority'] as const) {
    if (files[file] !== '') writePrivate(join(folder, MEMBER_FILES[file]), files[file]);
  }
}

export function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('');
}

/** Writes a new private key to `path` and returns the matching public key. */
export function newKey(path: string): string {
  const pair = createUser();
  writePrivate(path, `${new TextDecoder().decode(pair.getSeed())}\n`);
  return pair.getPublicKey();
}

/** Creates a folder that only its owner can use. */
export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Writes a file that only its owner can read. If writing fails, the previous file is unchanged. */
export function writePrivate(path: string, text: string | Uint8Array): void {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}

import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createUser } from '@nats-io/nkeys';

/** A new key of a user of the broker. */
export interface NewNkey {
  readonly seed: string;
  readonly publicKey: string;
}

export function newKey(): NewNkey {
  const pair = createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
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

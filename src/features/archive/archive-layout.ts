import { hash } from 'node:crypto';
import { chatIdentity } from '../../core/model/address.ts';
import { memoized } from '../../core/model/memoized.ts';

// The paths in an archive, relative to its folder.

export const MANIFEST = 'manifest.json';
export const LOG = 'log.ndjson';
export const PEOPLE_FILE = 'people.json';
export const FIRST_PAGE = 'index.html';
export const CONVERSATIONS = 'conversations';
export const FILES = 'files';
/** Can be deleted, because the next run recreates it. */
export const INDEX = 'index.db';
export const LOCK = 'lock.db';
/** Suffix of a file that is still being written. */
export const PART = '.part';

const CHAIN = /^conversations\/([0-9a-f]{16})\/messages-(\d{4})\.ndjson$/;
const PAGE = /^conversations\/[0-9a-f]{16}\/\d{4}(?:-\d{2}(?:-\d+)?)?\.html$/;
const STORED = /^files\/([0-9a-f]{2})\/(\1[0-9a-f]{62})\.([a-z0-9]{2,5})$/;

/**
 * Returns the key of the conversation that has this chat guid. All guids of one conversation, across services and macOS
 * versions, lead to the same key.
 */
export const conversationKey = memoized((guid) => {
  const { style, identifier } = chatIdentity(guid) ?? { style: '', identifier: guid };
  return hash('sha256', `${style};${identifier}`, 'hex').slice(0, 16);
});

/** Returns the path of the file with a conversation's lines of one year. */
export function chainPath(key: string, year: string): string {
  return `${CONVERSATIONS}/${key}/messages-${year}.ndjson`;
}

/** Returns the conversation's key and the year in a path from `chainPath`; undefined for any other path. */
export function chainOf(path: string): { readonly key: string; readonly year: string } | undefined {
  const [, key, year] = CHAIN.exec(path) ?? [];
  return key === undefined || year === undefined ? undefined : { key, year };
}

/** Reports whether a run makes the file with this path from the lines or from Contacts, whenever it is missing. */
export function isGenerated(path: string): boolean {
  return [FIRST_PAGE, PEOPLE_FILE, INDEX].includes(path) || PAGE.test(path);
}

/** Returns the path of a stored file with this SHA-256. */
export function storedPath(sha256: string, extension: string): string {
  return `${FILES}/${sha256.slice(0, 2)}/${sha256}.${extension}`;
}

/** Returns the SHA-256 in the path of a stored file; undefined for any other path. */
export function storedHash(path: string): string | undefined {
  return STORED.exec(path)?.[2];
}

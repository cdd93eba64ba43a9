import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '../../../core/model/errors.ts';

const KEY_BYTES = 32;
const ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';
/** Far more levels than an event or a conversation has. */
const MAX_LEVELS = 32;

/** The member name of what only hubs read, such as the settings of webhooks. No Mac has this name. */
export const HUBS = '~hubs';

interface MemberKey {
  readonly id: Buffer;
  readonly key: Uint8Array;
}

/** Returns the keys of a member. The first one seals; any of them opens. */
export type KeysOf = (member: string) => readonly MemberKey[];

/** Returns the keys of one member, given in base64. */
export function memberKeys(keys: readonly string[]): KeysOf {
  const known = keys.map((key) => memberKey(bytesOf(key)));
  return () => known;
}

/** Returns the keys that a hub derives for each member from the fleet's keys, given in base64. */
export function fleetKeys(keys: readonly string[]): KeysOf {
  const known = new Map<string, readonly MemberKey[]>();
  return (member) => {
    const found = known.get(member) ?? keys.map((key) => memberKey(derived(bytesOf(key), member)));
    known.set(member, found);
    return found;
  };
}

/** Derives a member's key from a key of the fleet, both in base64. */
export function deriveMemberKey(fleetKey: string, member: string): string {
  return Buffer.from(derived(bytesOf(fleetKey), member)).toString('base64');
}

export function newFleetKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

/**
 * Seals and opens bytes with a member's key (AES-256-GCM). Bytes sealed for one subject open at no other, so the
 * broker can exchange nothing.
 */
export class Envelope {
  readonly #keysOf: KeysOf;

  constructor(keysOf: KeysOf) {
    this.#keysOf = keysOf;
  }

  seal(member: string, subject: string, bytes: Uint8Array): Uint8Array {
    const [newest] = this.#keysOf(member);
    if (newest === undefined) throw new AppError('fleet_key_unusable', 'There is no key to seal with.');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, newest.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(context(member, subject));
    return Buffer.concat([newest.id, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  /** Throws AppError `fleet_content_unreadable` unless a known key sealed the bytes for this member and subject. */
  open(member: string, subject: string, sealed: Uint8Array): Uint8Array {
    if (sealed.length < ID_BYTES + NONCE_BYTES + TAG_BYTES) throw unreadable('it is too short');
    const known = this.#keysOf(member)[this.keyIndex(member, sealed)];
    if (known === undefined) throw unreadable('it is sealed with a key that is unknown here');
    const nonce = sealed.subarray(ID_BYTES, ID_BYTES + NONCE_BYTES);
    try {
      const decipher = createDecipheriv(CIPHER, known.key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(context(member, subject));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(sealed.subarray(ID_BYTES + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch {
      throw unreadable('it was altered, or was not written for this place');
    }
  }

  /** Returns which of the member's keys sealed the bytes: 0 for the newest, -1 for one that is unknown here. */
  keyIndex(member: string, sealed: Uint8Array): number {
    return this.#keysOf(member).findIndex(({ id }) => id.equals(sealed.subarray(0, ID_BYTES)));
  }

  sealJson(member: string, subject: string, value: unknown): Uint8Array {
    return this.seal(member, subject, Buffer.from(JSON.stringify(value)));
  }

  /** Returns the unchecked JSON. Throws AppError `fleet_content_unreadable`. */
  openJson(member: string, subject: string, sealed: Uint8Array): unknown {
    return parsedJson(this.open(member, subject, sealed));
  }
}

/**
 * Parses JSON in UTF-8. Throws AppError `fleet_content_unreadable`, also for JSON that is nested so deeply that
 * `JSON.stringify` would fail: a Mac that lies must not stop those who pass it on.
 */
export function parsedJson(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw unreadable('it is not JSON');
  }
  if (!isNestedWithin(MAX_LEVELS, value)) throw unreadable('it is nested too deeply');
  return value;
}

function isNestedWithin(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isNestedWithin(levels - 1, one));
}

export function unreadable(reason: string): AppError {
  return new AppError('fleet_content_unreadable', `A message of the fleet cannot be read: ${reason}.`, { status: 502 });
}

/** Encodes both as JSON, so that neither can run into the other. */
function context(member: string, subject: string): Buffer {
  return Buffer.from(JSON.stringify([member, subject]));
}

function derived(fleetKey: Uint8Array, member: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', fleetKey, new Uint8Array(), `postern mac ${member}`, KEY_BYTES));
}

/** The id tells nothing about the key. */
function memberKey(key: Uint8Array): MemberKey {
  return { id: createHash('sha256').update('postern key id').update(key).digest().subarray(0, ID_BYTES), key };
}

function bytesOf(key: string): Uint8Array {
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length === KEY_BYTES) return bytes;
  throw new AppError('fleet_key_unusable', 'A key of the fleet must have 32 bytes in base64.');
}

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '../../../core/model/errors.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';
/**
 * Maximum number of keys in a key file: the key in use and, while the fleet changes its key, the next or previous one.
 */
const MAX_KEYS = 2;

/** Owner of the messages between hubs. No Mac has this name, so only hubs can derive the key for these messages. */
export const HUBS = '~hubs';

/** A content key of one Mac. Sealed messages carry the id of the key, which does not reveal the key. */
export interface MacKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** A sealed message. `keyId` travels in a header. */
export interface Sealed {
  readonly bytes: Uint8Array;
  readonly keyId?: string;
}

/** Returns the keys of a Mac. The first one encrypts; any of them decrypts. */
export type KeysOf = (mac: string) => readonly MacKey[];

/** Reads the key file of an agent. It contains only the keys of the agent's Mac. */
export function agentKeys(text: string): KeysOf {
  const keys = readKeys(text).map(macKey);
  return () => keys;
}

/** Reads the key file of a hub. It contains the fleet keys, from which the keys of every Mac are derived. */
export function hubKeys(text: string): KeysOf {
  const fleetKeys = readKeys(text);
  const known = new Map<string, readonly MacKey[]>();
  return (mac) => {
    const found = known.get(mac) ?? fleetKeys.map((key) => macKey(macKeyBytes(key, mac)));
    known.set(mac, found);
    return found;
  };
}

/** Derives a line of an agent's key file from a line of the hubs' key file. */
export function macKeyLine(fleetKeyLine: string, mac: string): string {
  const [fleetKey] = readKeys(fleetKeyLine);
  return Buffer.from(macKeyBytes(fleetKey ?? new Uint8Array(), mac)).toString('base64');
}

export function newFleetKeyLine(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

/**
 * Seals and opens messages (AES-256-GCM). Without keys it writes plain messages and refuses sealed ones; with keys it
 * refuses plain messages.
 */
export class Envelope {
  readonly #keysOf: KeysOf | undefined;

  constructor(keysOf?: KeysOf) {
    this.#keysOf = keysOf;
  }

  /** Seals bytes for a context, such as epoch and row. The sealed bytes open in no other context. */
  seal(mac: string, context: readonly string[], bytes: Uint8Array): Sealed {
    if (this.#keysOf === undefined) return { bytes };
    const [newest] = this.#keysOf(mac);
    if (newest === undefined) throw new AppError('fleet_key_unusable', 'There is no content key to encrypt with.');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, newest.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(contextBytes(mac, context));
    return {
      bytes: Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]),
      keyId: newest.id,
    };
  }

  /** Throws AppError `fleet_content_unreadable` unless the bytes were sealed with a known key for this context. */
  open(mac: string, context: readonly string[], { bytes, keyId }: Sealed): Uint8Array {
    if (this.#keysOf === undefined) {
      if (keyId === undefined) return bytes;
      throw unreadable('it is encrypted, but fleet.content_key_file is not set here');
    }
    if (keyId === undefined) throw unreadable('it is not encrypted, but fleet.content requires encryption here');
    const known = this.#keysOf(mac).find(({ id }) => id === keyId);
    if (known === undefined) throw unreadable('it is encrypted with a key that is not in fleet.content_key_file');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw unreadable('it is too short');
    try {
      const decipher = createDecipheriv(CIPHER, known.key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(contextBytes(mac, context));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch {
      throw unreadable('it was altered, or was not written for this place');
    }
  }
}

/** Seals a value in one piece: the length of the key's id in one byte, the id, and the sealed JSON. */
export function pack(envelope: Envelope, mac: string, context: readonly string[], value: unknown): Uint8Array {
  const { bytes, keyId = '' } = envelope.seal(mac, context, Buffer.from(JSON.stringify(value)));
  return Buffer.concat([Buffer.from([keyId.length]), Buffer.from(keyId), bytes]);
}

interface Schema<Value> {
  safeParse(given: unknown): { readonly success: true; readonly data: Value } | { readonly success: false };
}

/**
 * Opens a value that `pack` sealed. Throws AppError `fleet_content_unreadable` if it cannot be opened or the schema
 * refuses it.
 */
export function unpack<Value>(
  schema: Schema<Value>,
  envelope: Envelope,
  mac: string,
  context: readonly string[],
  packed: Uint8Array,
): Value {
  const end = 1 + (packed[0] ?? 0);
  const keyId = Buffer.from(packed.subarray(1, end)).toString('latin1');
  const opened = envelope.open(mac, context, { bytes: packed.subarray(end), ...(keyId !== '' && { keyId }) });
  const read = schema.safeParse(parsedBytes(opened));
  if (!read.success) throw unreadable('it does not have the expected members');
  return read.data;
}

/** Like `unpack`, but returns undefined instead of throwing. */
export function unpackIf<Value>(...given: Parameters<typeof unpack<Value>>): Value | undefined {
  try {
    return unpack(...given);
  } catch {
    return undefined;
  }
}

/** Returns the parsed JSON; undefined if the bytes are not JSON. */
export function parsedBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

export function unreadable(reason: string): AppError {
  return new AppError('fleet_content_unreadable', `A message of the fleet cannot be read: ${reason}.`, { status: 502 });
}

/** Encodes the parts as JSON, so that no part can run into the next. */
function contextBytes(mac: string, context: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify([mac, ...context]));
}

function macKeyBytes(fleetKey: Uint8Array, mac: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', fleetKey, new Uint8Array(), `postern mac ${mac}`, KEY_BYTES));
}

function macKey(key: Uint8Array): MacKey {
  return { id: createHash('sha256').update('postern key id').update(key).digest('hex').slice(0, 8), key };
}

function readKeys(text: string): readonly Uint8Array[] {
  const lines = text.split('\n').map((line) => line.trim());
  const written = lines.filter((line) => line !== '' && !line.startsWith('#'));
  const keys = written.map((line) => Buffer.from(line, 'base64'));
  const isFine = written.every((line) => /^[A-Za-z0-9+/]{43}=$/.test(line));
  if (isFine && keys.length > 0 && keys.length <= MAX_KEYS) return keys;
  throw new AppError(
    'fleet_key_unusable',
    'The file at fleet.content_key_file must hold one or two keys, one per line, each 32 bytes in base64.',
    { hint: 'Make it with "postern fleet init" for a hub, or "postern fleet add" for a Mac.' },
  );
}

import { type Include, includeSet } from '../../domain/include.ts';
import type { StoredWebhook } from '../../domain/webhook.ts';
import type { Envelope } from '../../fleet/envelope.ts';

/** A webhook as hubs share it. */
export interface Registration {
  /** Counts the writes. */
  readonly version: number;
  /** Lease of the hub that wrote it last. */
  readonly holder: string;
  /** Where its deliveries and dropped events are kept: of one hub. */
  readonly history: string;
  readonly webhook: Omit<StoredWebhook, 'offset'>;
  /** Everything up to here is done; as a client of a hub keeps an offset. */
  readonly after: string;
}

/** No Mac has this name, so none has the key that is derived from it. */
const HUBS = '~hubs';

/** What hubs tell each other holds secrets: it is sealed with a key that only hubs have. */
export class HubSeal {
  readonly #envelope: Envelope;

  constructor(envelope: Envelope) {
    this.#envelope = envelope;
  }

  /** `context` says what it is: it opens as nothing else. */
  seal(context: readonly string[], value: unknown): Uint8Array {
    const { bytes, keyId } = this.#envelope.seal(HUBS, context, Buffer.from(JSON.stringify(value)));
    return keyId === undefined ? bytes : Buffer.from(`${keyId} ${Buffer.from(bytes).toString('base64')}`);
  }

  /** Throws AppError `fleet_content_unreadable` for what no hub with our key wrote. */
  open(context: readonly string[], bytes: Uint8Array): unknown {
    const [, keyId, body = ''] = /^([\w-]+) ([A-Za-z0-9+/=]+)$/.exec(Buffer.from(bytes).toString()) ?? [];
    const sealed = keyId === undefined ? { bytes } : { bytes: Buffer.from(body, 'base64'), keyId };
    return JSON.parse(Buffer.from(this.#envelope.open(HUBS, context, sealed)).toString()) as unknown;
  }
}

/** Sets are lists in JSON. */
export function registrationToJson({ webhook, ...others }: Registration): unknown {
  return { ...others, webhook: { ...webhook, include: [...webhook.include] } };
}

export function registrationFromJson(json: unknown): Registration {
  const { webhook, ...others } = json as Registration;
  return { ...others, webhook: { ...webhook, include: includeSet(webhook.include as Iterable<Include>) } };
}

export interface RegistrationCodec {
  encode(id: string, registration: Registration): Uint8Array;
  decode(id: string, bytes: Uint8Array): Registration;
}

export function registrationCodec(seal: HubSeal): RegistrationCodec {
  return {
    encode: (id, registration) => seal.seal(['webhook', id], registrationToJson(registration)),
    decode: (id, bytes) => registrationFromJson(seal.open(['webhook', id], bytes)),
  };
}

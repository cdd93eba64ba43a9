import { type Include, includeSet } from '../../../domain/include.ts';
import type { StoredWebhook } from '../../../domain/webhook.ts';
import { type Envelope, pack, unpack } from '../../protocol/envelope.ts';

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
    return pack(this.#envelope, HUBS, context, value);
  }

  /** Throws AppError `fleet_content_unreadable` for what no hub with our key wrote. */
  open(context: readonly string[], bytes: Uint8Array): unknown {
    return unpack(this.#envelope, HUBS, context, bytes);
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

/** Any client with write access to the bucket may have written anything. */
function isRegistration(id: string, json: unknown): boolean {
  const { version, holder, history, after, webhook } = (json ?? {}) as Partial<Registration>;
  return (
    Number.isSafeInteger(version) &&
    [holder, history, after].every((text) => typeof text === 'string') &&
    webhook?.id === id &&
    URL.canParse(webhook.url) &&
    Array.isArray(webhook.events) &&
    Array.isArray(webhook.include) &&
    typeof webhook.created_at === 'string' &&
    typeof webhook.headers === 'object' &&
    webhook.headers !== null
  );
}

export interface RegistrationCodec {
  encode(id: string, registration: Registration): Uint8Array;
  decode(id: string, bytes: Uint8Array): Registration;
}

export function registrationCodec(seal: HubSeal): RegistrationCodec {
  return {
    encode: (id, registration) => seal.seal(['webhook', id], registrationToJson(registration)),
    decode(id, bytes) {
      const json = seal.open(['webhook', id], bytes);
      if (!isRegistration(id, json)) throw new Error('it is not a webhook');
      return registrationFromJson(json);
    },
  };
}

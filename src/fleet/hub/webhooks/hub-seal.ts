import { type Envelope, pack, unpack } from '../../protocol/envelope.ts';

/** A name that no Mac has, so that no Mac has the key derived from it. */
const HUBS = '~hubs';

/** Seals what hubs tell each other, which contains secrets, with a key that only hubs have. */
export class HubSeal {
  readonly #envelope: Envelope;

  constructor(envelope: Envelope) {
    this.#envelope = envelope;
  }

  /** `context` names the value: it cannot be opened as anything else. */
  seal(context: readonly string[], value: unknown): Uint8Array {
    return pack(this.#envelope, HUBS, context, value);
  }

  /** Throws AppError `fleet_content_unreadable` for anything that no hub with our key wrote. */
  open(context: readonly string[], bytes: Uint8Array): unknown {
    return unpack(this.#envelope, HUBS, context, bytes);
  }
}

import * as z from 'zod';
import { isOnThisMachine } from '../../../core/model/callback-hosts.ts';
import { ROW_EVENT_TYPES } from '../../../core/model/event.ts';
import { parsedUrl } from '../../../core/model/parsed-url.ts';
import type { SubscriptionRequest, SubscriptionTarget } from '../subscriptions/subscription.ts';
import { eventArguments } from './catalogue.ts';
import type { EventErrors } from './errors.ts';

const MAX_EVENTS = 200;
const DEFAULT_EVENTS = 50;
const MAX_URL = 2048;
const MAX_MISTAKES = 20;
const MAX_MISTAKE = 300;
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?)$/;

/**
 * The parameters that `events/poll`, `events/stream` and `events/subscribe` share. Ignores unknown members, because a
 * client may speak a newer version of the protocol.
 */
const asked = z.object({
  name: z.string(),
  arguments: eventArguments.nullish().transform((given) => given ?? {}),
  cursor: z
    .string()
    .max(240)
    .nullish()
    .transform((given) => given ?? undefined),
  maxAgeMs: z.int().min(0).optional(),
});
const polled = asked.extend({
  maxEvents: z
    .int()
    .min(1)
    .default(DEFAULT_EVENTS)
    .transform((given) => Math.min(given, MAX_EVENTS)),
});
const url = z
  .string()
  .max(MAX_URL)
  .refine(isCallback, 'It must be an https URL. Plain http is allowed only for a loopback address.');
const subscribed = asked.extend({
  delivery: z.object({
    mode: z.string().default('webhook'),
    url,
    secret: z.string().max(200).refine(isSecret, 'It must be "whsec_" and the base64 of 24 to 64 bytes.'),
  }),
  ttlMs: z.number().nullish(),
});
const ended = z.object({ name: z.string(), arguments: asked.shape.arguments, delivery: z.object({ url }) });

/** The events that a client asks for. A subscription also has `url`, to which the events are posted. */
export interface AskedEvents extends Omit<SubscriptionTarget, 'url'> {
  readonly cursor: string | undefined;
  readonly maxAgeMs: number | undefined;
}

/** Reads the parameters of the methods `events/…`. Throws an error that names the mistakes in them. */
export class EventParams {
  readonly #errors: EventErrors;

  constructor(errors: EventErrors) {
    this.#errors = errors;
  }

  stream(params: unknown): AskedEvents {
    const { name, arguments: given, cursor, maxAgeMs } = this.#read(asked, params);
    return { name: this.#nameOf(name), arguments: given, cursor, maxAgeMs };
  }

  poll(params: unknown): AskedEvents & { readonly maxEvents: number } {
    return { ...this.stream(params), maxEvents: this.#read(polled, params).maxEvents };
  }

  subscription(params: unknown): SubscriptionRequest {
    const { delivery, ttlMs } = this.#read(subscribed, params);
    if (delivery.mode !== 'webhook') throw this.#errors.unsupportedMode(delivery.mode.slice(0, 40));
    return { ...this.stream(params), url: delivery.url, secret: delivery.secret, ttlMs };
  }

  target(params: unknown): SubscriptionTarget {
    const { name, arguments: given, delivery } = this.#read(ended, params);
    return { name: this.#nameOf(name), arguments: given, url: delivery.url };
  }

  #nameOf(name: string): AskedEvents['name'] {
    const known = ROW_EVENT_TYPES.find((one) => one === name);
    if (known === undefined) throw this.#errors.unknownEvent();
    return known;
  }

  #read<Read>(schema: z.ZodType<Read>, params: unknown): Read {
    const read = schema.safeParse(params ?? {});
    if (read.success) return read.data;
    const mistakes = read.error.issues.slice(0, MAX_MISTAKES).map(({ path, message }) => {
      const sentence = `${path.join('.').slice(0, 100)}: ${message}`.slice(0, MAX_MISTAKE);
      return sentence.endsWith('.') ? sentence : `${sentence}.`;
    });
    throw this.#errors.invalid(mistakes);
  }
}

function isCallback(written: string): boolean {
  const protocol = parsedUrl(written)?.protocol;
  return protocol === 'https:' || (protocol === 'http:' && isOnThisMachine(written));
}

function isSecret(written: string): boolean {
  const bytes = Buffer.from(SECRET.exec(written)?.[1] ?? '', 'base64').length;
  return bytes >= 24 && bytes <= 64;
}

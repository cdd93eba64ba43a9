import * as z from 'zod';
import { isOnThisMachine } from '../../../core/model/callback-hosts.ts';
import { ROW_EVENT_TYPES } from '../../../core/model/event.ts';
import { parsedUrl } from '../../../core/model/parsed-url.ts';
import { standardSecretBytes } from '../../../core/webhooks/poster.ts';
import type { SubscriptionRequest, SubscriptionTarget } from '../subscriptions/subscription.ts';
import { eventArguments } from './catalogue.ts';
import { invalidParams, unknownEvent, unsupportedMode } from './errors.ts';

const MAX_EVENTS = 200;
const DEFAULT_EVENTS = 50;
const MAX_URL = 2048;
const MAX_MISTAKES = 20;
const MAX_MISTAKE = 300;

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

// These read the parameters of a method. They throw an error that names the mistakes.

export function streamParams(params: unknown): AskedEvents {
  const { name, arguments: given, cursor, maxAgeMs } = read(asked, params);
  return { name: nameOf(name), arguments: given, cursor, maxAgeMs };
}

export function pollParams(params: unknown): AskedEvents & { readonly maxEvents: number } {
  return { ...streamParams(params), maxEvents: read(polled, params).maxEvents };
}

export function subscriptionParams(params: unknown): SubscriptionRequest {
  const { delivery, ttlMs } = read(subscribed, params);
  if (delivery.mode !== 'webhook') throw unsupportedMode(delivery.mode.slice(0, 40));
  return { ...streamParams(params), url: delivery.url, secret: delivery.secret, ttlMs };
}

export function targetParams(params: unknown): SubscriptionTarget {
  const { name, arguments: given, delivery } = read(ended, params);
  return { name: nameOf(name), arguments: given, url: delivery.url };
}

function nameOf(name: string): AskedEvents['name'] {
  const known = ROW_EVENT_TYPES.find((one) => one === name);
  if (known === undefined) throw unknownEvent();
  return known;
}

function read<Read>(schema: z.ZodType<Read>, params: unknown): Read {
  const result = schema.safeParse(params ?? {});
  if (result.success) return result.data;
  const mistakes = result.error.issues.slice(0, MAX_MISTAKES).map(({ path, message }) => {
    const sentence = `${path.join('.').slice(0, 100)}: ${message}`.slice(0, MAX_MISTAKE);
    return sentence.endsWith('.') ? sentence : `${sentence}.`;
  });
  throw invalidParams(mistakes);
}

function isCallback(written: string): boolean {
  const protocol = parsedUrl(written)?.protocol;
  return protocol === 'https:' || (protocol === 'http:' && isOnThisMachine(written));
}

function isSecret(written: string): boolean {
  const bytes = standardSecretBytes(written)?.length ?? 0;
  return bytes >= 24 && bytes <= 64;
}

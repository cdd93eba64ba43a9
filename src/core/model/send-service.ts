import { isoSecond } from './iso-second.ts';

/** The services that a send may choose (decision X3). */
export const SERVICE_CHOICES = ['auto', 'imessage', 'sms', 'rcs'] as const;
export type ServiceChoice = (typeof SERVICE_CHOICES)[number];

/**
 * What a send may choose besides its recipient, content and times. Requests, records of sends and the client have these
 * members by the same names; their schemas are `SEND_CHOICES` (`core/schema/send-choices.ts`).
 */
export interface SendChoices {
  /** The service to use; if absent, the order of decision T1 applies. */
  readonly service?: ServiceChoice | undefined;
  /** Sends the message again by SMS if the first service sent nothing, or if the message's row shows an error. */
  readonly fallback?: 'sms' | undefined;
}

const CHOICES: Readonly<Record<keyof SendChoices, true>> = { service: true, fallback: true };

/**
 * Members of a send request that older services do not know. The service lists each of these members as a capability,
 * so that a client can check for a member before using it: an older Postern would ignore it, and send at once, by
 * another messaging service, or with the marks of Markdown.
 */
export const CAPABLE_MEMBERS: readonly string[] = ['format', ...Object.keys(CHOICES), 'send_at'];

/** The options of a send besides its recipient and content. */
export interface SendPreferences extends SendChoices {
  /**
   * `sendAtMs` and `sendUntilMs` are the earliest and the latest time to send, Unix milliseconds. Set both or
   * neither.
   */
  readonly sendAtMs?: number | undefined;
  readonly sendUntilMs?: number | undefined;
}

/** Returns only the choices of a send, without those that are undefined. */
export function sendChoices(of: SendChoices): SendChoices {
  return named(of, CHOICES);
}

/** Returns only the send options of a request, without those that are undefined. Repeats compare them in this order. */
export function sendOptions(of: SendPreferences): SendPreferences {
  return named(of, { ...CHOICES, sendAtMs: true, sendUntilMs: true });
}

function named<Of extends object>(of: Of, names: Readonly<Record<keyof Of, true>>): Of {
  const found = (Object.keys(names) as (keyof Of)[]).map((name) => [name, of[name]] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Of;
}

/**
 * Returns a text that is equal for two requests to send the same message to `to`. Compares uploads by name and content,
 * not by id, because a client that repeats a send uploads its files again.
 */
export function comparableSend(to: string, { body, attachments, uploads = [], ...rest }: ComparableSend): string {
  const uploaded = uploads.map(({ name, sha256 }) => [name, sha256]);
  const options = Object.entries(sendOptions(rest));
  return JSON.stringify([
    ...[to, body, attachments],
    ...(uploaded.length > 0 ? [uploaded] : []),
    ...(options.length > 0 ? [{ options }] : []),
  ]);
}

interface ComparableSend extends SendPreferences {
  readonly body: string;
  readonly attachments: readonly string[];
  readonly uploads?: readonly { readonly name: string; readonly sha256: string }[];
}

/**
 * Why a service was used: the conversation already has it, earlier messages used it, the request asked for it, or it is
 * the default.
 */
export const SERVICE_REASONS = ['conversation', 'history', 'asked', 'default'] as const;
export type ServiceReason = (typeof SERVICE_REASONS)[number];

/** The services as Messages spells them. */
export const SERVICES = ['iMessage', 'SMS', 'RCS'] as const;
export type Service = (typeof SERVICES)[number];

/** Returns the service with this name, ignoring case; undefined for any other name. */
export function serviceNamed(name: string | null | undefined): Service | undefined {
  return SERVICES.find((service) => service.toLowerCase() === name?.toLowerCase());
}

/** Returns the options as answers show them. */
export function shownOptions({ sendAtMs, sendUntilMs, ...choices }: SendPreferences) {
  return {
    ...sendChoices(choices),
    ...(sendAtMs !== undefined && { send_at: isoSecond(sendAtMs) }),
    ...(sendUntilMs !== undefined && { send_until: isoSecond(sendUntilMs) }),
  };
}

import { createInbox, type Msg, headers as newHeaders } from '@nats-io/nats-core';
import { AppError, isAppError, type Mistake } from '../../domain/errors.ts';
import { FLEET_PROBLEMS } from '../../domain/fleet-problems.ts';
import type { Clock } from '../../domain/ports/host.ts';
import { PROBLEMS, type ProblemText, problem } from '../../domain/problems.ts';
import { visible } from '../../domain/visible.ts';
import type { FleetConnection } from './connection.ts';
import type { Envelope } from './envelope.ts';
import { type FleetOperation, HEADERS, inboxPrefix, readSubject } from './layout.ts';

/** Less than the megabyte that a server accepts, headers included. */
const PART_BYTES = 512 * 1024;
/** Enough for a page of the longest messages. */
const MAX_PARTS = 64;
const MAX_SENTENCE = 500;

/** A failure as it crosses the broker, so that the hub answers like the Mac. */
export interface ProblemMessage {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly mistakes?: readonly Mistake[];
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Reply = { readonly result: unknown } | { readonly problem: ProblemMessage };

export function toProblem(error: unknown): ProblemMessage {
  if (!isAppError(error)) return { status: 500, code: 'internal_error', message: 'The Mac could not answer.' };
  const { status, code, message, hint, mistakes, extra, headers } = error;
  return { status, code, message, ...(hint !== undefined && { hint }), mistakes, extra, headers };
}

/** Problems of hubs: a Mac that answers one of these would speak for a hub. */
const OF_HUBS = new Set(Object.entries<ProblemText>(FLEET_PROBLEMS).map(([name, { code = name }]) => code));
for (const code of ['mac_busy', 'send_expired', 'mac_answer_too_large', 'invalid_request']) OF_HUBS.delete(code);

/** What the catalogue says about each code. */
const CATALOGUE = new Map<string, { readonly statuses: Set<number>; readonly extra: Set<string> }>();
for (const [name, { code = name, status, extra = {} }] of Object.entries<ProblemText>(PROBLEMS)) {
  const known = CATALOGUE.get(code) ?? { statuses: new Set(), extra: new Set() };
  known.statuses.add(status);
  for (const member of Object.keys(extra)) known.extra.add(member);
  CATALOGUE.set(code, known);
}

/**
 * The failure that a Mac reported, as far as our catalogue has it: its code and status, never that of a key (401, 403)
 * or of a hub. Anything else becomes `mac_answer_invalid`.
 */
export function fromProblem(given: unknown): AppError {
  const found = knownProblem(given);
  if (found === undefined || [401, 403].includes(found.status) || OF_HUBS.has(found.code)) {
    return problem('mac_answer_invalid');
  }
  return found;
}

/** The failure that another hub reported. */
export function fromHubProblem(given: unknown): AppError {
  return knownProblem(given) ?? problem('webhooks_unavailable');
}

function knownProblem(given: unknown): AppError | undefined {
  if (!isRecord(given) || typeof given.code !== 'string' || typeof given.message !== 'string') return undefined;
  const { code, status, message, hint, mistakes, extra, headers } = given;
  const known = CATALOGUE.get(code);
  if (known?.statuses.has(Number(status)) !== true) return undefined;
  const members = isRecord(extra) ? Object.entries(extra).filter(([name]) => known.extra.has(name)) : [];
  return new AppError(code, sentence(message), {
    status: Number(status),
    ...(typeof hint === 'string' && { hint: sentence(hint) }),
    ...(Array.isArray(mistakes) && { mistakes: mistakes.filter(isMistake).map(plainMistake) }),
    ...(members.length > 0 && { extra: Object.fromEntries(members) }),
    ...(isRecord(headers) && { headers: onlyText(headers) }),
  });
}

/** One line that a terminal and a log can show. */
function sentence(text: string): string {
  return visible(text.slice(0, MAX_SENTENCE)).replaceAll(/[\n\t]/g, ' ');
}

function plainMistake({ pointer, message }: Mistake): Mistake {
  return { pointer: sentence(pointer), message: sentence(message) };
}

export interface Question {
  readonly mac: string;
  readonly operation: FleetOperation;
  readonly request: unknown;
  readonly timeoutMs: number;
}

/** Cause of `mac_away` if somebody listened and did not answer in time. */
export const UNANSWERED = new Error('no answer in time');

/**
 * Asks an agent. Returns its answer as parsed JSON that nobody has checked, or throws the failure it reported. Throws
 * `mac_away` if nobody answers.
 */
export async function ask(
  connection: FleetConnection,
  envelope: Envelope,
  clock: Clock,
  { mac, operation, request, timeoutMs }: Question,
): Promise<unknown> {
  if (!connection.isConnected) throw problem('broker_away');
  const inbox = createInbox(inboxPrefix(connection.name));
  const sealed = envelope.seal(mac, ['rd', operation, inbox], Buffer.from(JSON.stringify(request)));
  const headers = newHeaders();
  if (sealed.keyId !== undefined) headers.set(HEADERS.key, sealed.keyId);
  const { nc } = connection;
  const parts = await new Promise<readonly Msg[]>((resolve, reject) => {
    const got: Msg[] = [];
    const subscription = nc.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) return end(() => reject(problem('mac_away', { mac })));
        if (message.headers?.code === 503) return end(() => reject(problem('mac_away', { mac })));
        const [, place, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(message.headers?.get(HEADERS.part) ?? '') ?? [];
        got.push(message);
        const isOutOfPlace = Number(place) !== got.length || Number(count) > MAX_PARTS;
        if (isOutOfPlace) end(() => reject(problem('mac_answer_invalid')));
        else if (Number(count) === got.length) end(() => resolve(got));
      },
    });
    const cancel = clock.after(timeoutMs, () => end(() => reject(problem('mac_away', { mac }, { cause: UNANSWERED }))));
    const end = (settle: () => void): void => {
      cancel();
      subscription.unsubscribe();
      settle();
    };
    nc.publish(readSubject(mac, operation), sealed.bytes, { reply: inbox, headers });
  });
  const keyId = parts[0]?.headers?.get(HEADERS.key);
  const bytes = Buffer.concat(parts.map(({ data }) => data));
  const opened = envelope.open(mac, ['reply', operation, inbox], { bytes, ...(keyId && { keyId }) });
  const reply = parsedBytes(opened) as Partial<{ result: unknown; problem: unknown }> | undefined;
  if (!isRecord(reply)) throw problem('mac_answer_invalid');
  if ('problem' in reply) throw fromProblem(reply.problem);
  return reply.result;
}

/** The request in a question; undefined if it is not JSON. Throws AppError if it cannot be opened. */
export function readQuestion(message: Msg, mac: string, operation: FleetOperation, envelope: Envelope): unknown {
  const keyId = message.headers?.get(HEADERS.key);
  const sealed = { bytes: message.data, ...(keyId && { keyId }) };
  return parsedBytes(envelope.open(mac, ['rd', operation, message.reply ?? ''], sealed));
}

/** Answers a question, in as many messages as needed. */
export function respond(message: Msg, mac: string, operation: FleetOperation, reply: Reply, envelope: Envelope): void {
  let sealed = envelope.seal(mac, ['reply', operation, message.reply ?? ''], Buffer.from(JSON.stringify(reply)));
  if (sealed.bytes.length > PART_BYTES * MAX_PARTS) {
    const tooLarge = Buffer.from(JSON.stringify({ problem: toProblem(problem('mac_answer_too_large')) }));
    sealed = envelope.seal(mac, ['reply', operation, message.reply ?? ''], tooLarge);
  }
  const { bytes, keyId } = sealed;
  const count = Math.max(1, Math.ceil(bytes.length / PART_BYTES));
  for (let place = 1; place <= count; place += 1) {
    const headers = newHeaders();
    headers.set(HEADERS.part, `${place}/${count}`);
    if (keyId !== undefined) headers.set(HEADERS.key, keyId);
    message.respond(bytes.subarray((place - 1) * PART_BYTES, place * PART_BYTES), { headers });
  }
}

/** Returns undefined unless the bytes are JSON. */
export function parsedBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMistake(value: unknown): value is Mistake {
  return isRecord(value) && typeof value.pointer === 'string' && typeof value.message === 'string';
}

function onlyText(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string] =>
      ['Retry-After', 'Idempotent-Replayed'].includes(entry[0]) &&
      typeof entry[1] === 'string' &&
      /^[\x20-\x7e]{0,100}$/.test(entry[1]),
  );
  return Object.fromEntries(entries);
}

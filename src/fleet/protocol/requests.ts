import { createInbox, type Msg, headers as newHeaders } from '@nats-io/nats-core';
import { AppError, isAppError, type Mistake } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports/host.ts';
import { problem } from '../../domain/problems.ts';
import type { FleetConnection } from './connection.ts';
import type { Envelope } from './envelope.ts';
import { type FleetOperation, HEADERS, inboxPrefix, readSubject } from './layout.ts';

/** Below the megabyte that a server takes, headers included. */
const PART_BYTES = 512 * 1024;
/** A page of the longest messages that there are. */
const MAX_PARTS = 64;

/** A failure as it crosses the broker, so that the hub answers what the Mac would have. */
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

/** The same failure again; what is malformed becomes `mac_answer_invalid`. */
export function fromProblem(text: unknown): AppError {
  const given = text as Partial<ProblemMessage> | null;
  const isFine =
    typeof given === 'object' &&
    given !== null &&
    Number.isInteger(given.status) &&
    Number(given.status) >= 400 &&
    Number(given.status) <= 599 &&
    typeof given.code === 'string' &&
    /^[a-z0-9_]{1,60}$/.test(given.code) &&
    typeof given.message === 'string';
  if (!isFine) return problem('mac_answer_invalid');
  return new AppError(given.code ?? '', given.message ?? '', {
    status: Number(given.status),
    ...(typeof given.hint === 'string' && { hint: given.hint }),
    ...(Array.isArray(given.mistakes) && { mistakes: given.mistakes.filter(isMistake) }),
    ...(isRecord(given.extra) && { extra: given.extra }),
    ...(isRecord(given.headers) && { headers: onlyText(given.headers) }),
  });
}

export interface Question {
  readonly mac: string;
  readonly operation: FleetOperation;
  readonly request: unknown;
  readonly timeoutMs: number;
}

/**
 * Asks an agent. Gives what its port gave (parsed JSON that nobody has checked), or throws what it threw; `mac_away` when
 * nobody answers.
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
    const cancel = clock.after(timeoutMs, () => end(() => reject(problem('mac_away', { mac }))));
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

/** What a question asks; undefined for what is not one. Throws AppError when it cannot be opened. */
export function readQuestion(message: Msg, mac: string, operation: FleetOperation, envelope: Envelope): unknown {
  const keyId = message.headers?.get(HEADERS.key);
  const sealed = { bytes: message.data, ...(keyId && { keyId }) };
  return parsedBytes(envelope.open(mac, ['rd', operation, message.reply ?? ''], sealed));
}

/** Answers a question, in as many messages as it takes. */
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

/** undefined for what is not JSON. */
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

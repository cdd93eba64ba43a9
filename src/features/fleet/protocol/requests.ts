import { createInbox, type Msg, headers as newHeaders } from '@nats-io/nats-core';
import { AppError, isAppError, type Mistake } from '../../../core/model/errors.ts';
import { FLEET_PROBLEMS } from '../../../core/model/fleet-problems.ts';
import type { Clock } from '../../../core/model/ports/host-ports.ts';
import { PROBLEMS, type ProblemText, problem } from '../../../core/model/problems.ts';
import { visible } from '../../../core/model/visible.ts';
import type { FleetConnection } from './connection.ts';
import { type Envelope, parsedBytes } from './envelope.ts';
import type { FleetOperation } from './fleet-reads-schema.ts';
import { type ProblemMessage, problemMessage } from './fleet-records-schema.ts';
import { HEADERS, inboxPrefix, MAX_PARTS, readSubject } from './layout.ts';

/** Maximum bytes in one message of a reply: well below the megabyte that a server accepts, headers included. */
const PART_BYTES = 512 * 1024;
const MAX_SENTENCE = 500;

export type Reply = { readonly result: unknown } | { readonly problem: ProblemMessage };

export function toProblem(error: unknown): ProblemMessage {
  if (!isAppError(error)) return { status: 500, code: 'internal_error', message: 'The Mac could not answer.' };
  const { status, code, message, hint, mistakes, extra, headers } = error;
  return { status, code, message, ...(hint !== undefined && { hint }), mistakes, extra, headers };
}

/** Problems that only a hub may report. If a Mac could report one, it would speak for the hub. */
const OF_HUBS = new Set(Object.entries<ProblemText>(FLEET_PROBLEMS).map(([name, { code = name }]) => code));
for (const code of ['mac_busy', 'send_expired', 'mac_answer_too_large', 'invalid_request']) OF_HUBS.delete(code);

/**
 * The known problems. Key: a code in the catalogue. Value: the statuses and the names of extra members that the code
 * can have.
 */
const CATALOGUE = new Map<string, { readonly statuses: Set<number>; readonly extra: Set<string> }>();
for (const [name, { code = name, status, extra = {} }] of Object.entries<ProblemText>(PROBLEMS)) {
  const known = CATALOGUE.get(code) ?? { statuses: new Set(), extra: new Set() };
  known.statuses.add(status);
  for (const member of Object.keys(extra)) known.extra.add(member);
  CATALOGUE.set(code, known);
}

/**
 * Returns the problem that a Mac reported, with only those extra members that the catalogue lists for its code. Returns
 * `mac_answer_invalid` for problems of keys (401, 403), problems of hubs and anything unknown.
 */
export function fromProblem(given: unknown): AppError {
  const found = knownProblem(given);
  if (found === undefined || [401, 403].includes(found.status) || OF_HUBS.has(found.code)) {
    return problem('mac_answer_invalid');
  }
  return found;
}

/** Returns the problem that another hub reported; `webhooks_unavailable` for anything unknown. */
export function fromHubProblem(given: unknown): AppError {
  return knownProblem(given) ?? problem('webhooks_unavailable');
}

function knownProblem(given: unknown): AppError | undefined {
  const read = problemMessage.safeParse(given);
  if (!read.success) return undefined;
  const { code, status, message, hint, mistakes, extra = {}, headers = {} } = read.data;
  const known = CATALOGUE.get(code);
  if (known?.statuses.has(status) !== true) return undefined;
  return new AppError(code, sentence(message), {
    status,
    ...(hint !== undefined && { hint: sentence(hint) }),
    ...(mistakes && { mistakes: mistakes.map(plainMistake) }),
    extra: Object.fromEntries(Object.entries(extra).filter(([name]) => known.extra.has(name))),
    headers: Object.fromEntries(Object.entries(headers).filter(isPlainHeader)),
  });
}

/** Returns a text as one line that a terminal and a log can show. */
function sentence(text: string): string {
  return visible(text.slice(0, MAX_SENTENCE)).replaceAll(/[\n\t]/g, ' ');
}

function plainMistake({ pointer, message }: Mistake): Mistake {
  return { pointer: sentence(pointer), message: sentence(message) };
}

interface Question {
  readonly subject: string;
  /** The Mac whose key seals the question, or `HUBS`. */
  readonly owner: string;
  readonly operation: string;
  readonly request: unknown;
  readonly timeoutMs: number;
}

/** Cause of `mac_away` if a Mac listened and did not answer in time. */
export const UNANSWERED = new Error('no answer in time');

/**
 * Asks an agent. Returns its answer as unchecked JSON. Throws the problem that the agent reported, and what `exchange`
 * throws.
 */
export async function ask(
  connection: FleetConnection,
  envelope: Envelope,
  clock: Clock,
  { mac, operation, ...rest }: Pick<Question, 'request' | 'timeoutMs'> & { mac: string; operation: FleetOperation },
): Promise<unknown> {
  const question = { subject: readSubject(mac, operation), owner: mac, operation, ...rest };
  const reply = await exchange(connection, envelope, clock, question);
  if ('problem' in reply) throw fromProblem(reply.problem);
  return reply.result;
}

/**
 * Publishes a question and returns the unchecked reply. Throws `broker_away` without a connection, `mac_away` without
 * an answer, `fleet_content_unreadable` if the reply cannot be opened, and `mac_answer_invalid` unless it is an object
 * in complete parts.
 */
export async function exchange(
  connection: FleetConnection,
  envelope: Envelope,
  clock: Clock,
  { subject, owner, operation, request, timeoutMs }: Question,
): Promise<Readonly<Record<string, unknown>>> {
  if (!connection.isConnected) throw problem('broker_away');
  const inbox = createInbox(inboxPrefix(connection.name));
  const sealed = envelope.seal(owner, ['rd', operation, inbox], Buffer.from(JSON.stringify(request)));
  const headers = newHeaders();
  if (sealed.keyId !== undefined) headers.set(HEADERS.key, sealed.keyId);
  const { nc } = connection;
  const parts = await new Promise<readonly Msg[]>((resolve, reject) => {
    const got: Msg[] = [];
    const subscription = nc.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null || message.headers?.code === 503) return end(() => reject(away()));
        const [, part, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(message.headers?.get(HEADERS.part) ?? '') ?? [];
        got.push(message);
        const isOutOfOrder = Number(part) !== got.length || Number(count) > MAX_PARTS;
        if (isOutOfOrder) end(() => reject(problem('mac_answer_invalid')));
        else if (Number(count) === got.length) end(() => resolve(got));
      },
    });
    const away = (cause?: Error) => problem('mac_away', { mac: owner }, { cause });
    const cancel = clock.after(timeoutMs, () => end(() => reject(away(UNANSWERED))));
    const end = (settle: () => void): void => {
      cancel();
      subscription.unsubscribe();
      settle();
    };
    nc.publish(subject, sealed.bytes, { reply: inbox, headers });
  });
  const keyId = parts[0]?.headers?.get(HEADERS.key);
  const bytes = Buffer.concat(parts.map(({ data }) => data));
  const reply = parsedBytes(envelope.open(owner, ['reply', operation, inbox], { bytes, ...(keyId && { keyId }) }));
  if (!isRecord(reply)) throw problem('mac_answer_invalid');
  return reply;
}

/** Returns the request in a question; undefined if it is not JSON. Throws AppError `fleet_content_unreadable`. */
export function readQuestion(message: Msg, owner: string, operation: string, envelope: Envelope): unknown {
  const keyId = message.headers?.get(HEADERS.key);
  const sealed = { bytes: message.data, ...(keyId && { keyId }) };
  return parsedBytes(envelope.open(owner, ['rd', operation, message.reply ?? ''], sealed));
}

/**
 * Answers a question in up to `MAX_PARTS` messages. A reply that needs more is replaced by the problem
 * `mac_answer_too_large`.
 */
export function respond(message: Msg, owner: string, operation: string, reply: Reply, envelope: Envelope): void {
  const seal = (value: Reply) =>
    envelope.seal(owner, ['reply', operation, message.reply ?? ''], Buffer.from(JSON.stringify(value)));
  let sealed = seal(reply);
  if (sealed.bytes.length > PART_BYTES * MAX_PARTS) {
    sealed = seal({ problem: toProblem(problem('mac_answer_too_large')) });
  }
  const { bytes, keyId } = sealed;
  const count = Math.max(1, Math.ceil(bytes.length / PART_BYTES));
  for (let index = 1; index <= count; index += 1) {
    const headers = newHeaders();
    headers.set(HEADERS.part, `${index}/${count}`);
    if (keyId !== undefined) headers.set(HEADERS.key, keyId);
    message.respond(bytes.subarray((index - 1) * PART_BYTES, index * PART_BYTES), { headers });
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlainHeader([name, value]: readonly [string, string]): boolean {
  return ['Retry-After', 'Idempotent-Replayed'].includes(name) && /^[\x20-\x7e]{0,100}$/.test(value);
}

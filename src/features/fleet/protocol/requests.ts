import { randomBytes } from 'node:crypto';
import type { Msg } from '@nats-io/nats-core';
import { AppError } from '../../../core/model/errors.ts';
import type { Clock } from '../../../core/model/ports/host-ports.ts';
import { Call, Unanswered } from './call.ts';
import { brokerAway, type FleetConnection } from './connection.ts';
import { type Envelope, parsedJson, unreadable } from './envelope.ts';
import { isRecord } from './event.ts';
import { answerSubject, isMember, MACHINE, memberOfSubject, requestSubject, WHO, whoAnswers } from './subjects.ts';

/** Time in which a machine acknowledges a request. After that, the answer may take as long as at the machine itself. */
const ACK_MS = 2000;
const MAX_HEADERS = 100;

/** A request for the API of a machine. */
export interface RequestHead {
  readonly method: string;
  /** Path and query, such as `/api/v1/messages?limit=5`. */
  readonly path: string;
  readonly headers: PassedHeaders;
  /** True if the client had the hub's key: the machine then adds its owner's. */
  readonly isOwner: boolean;
}

/** Key: the name in lower case. */
export type PassedHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface Question extends RequestHead {
  readonly member: string;
  /** Undefined: any machine of the member. */
  readonly machine?: string | undefined;
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
}

export interface MacAnswer {
  readonly machine: string;
  readonly status: number;
  readonly headers: PassedHeaders;
  /** Must be read to its end or left early with `break` or `return()`, which ends the request at the machine. */
  readonly body: AsyncGenerator<Uint8Array, void, undefined>;
}

export interface Asking {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly clock: Clock;
}

/**
 * Passes a request to a machine. Throws `Unanswered`, `broker_away`, what the machine itself refuses (`clock_differs`,
 * `mac_busy`, `fleet_stream`, `mac_service_away`), and `mac_answer_invalid`.
 */
export async function ask(asking: Asking, question: Question): Promise<MacAnswer> {
  const { connection, envelope, clock } = asking;
  const { member, machine, method, path, headers, isOwner, body, signal } = question;
  const id = randomBytes(16).toString('base64url');
  const subject = requestSubject(member, machine);
  const head = { method, path, headers, isOwner, hasBody: body !== undefined, atMs: clock.now() };
  const call = new Call({ ...asking, member, id }, 'hub');
  signal?.addEventListener('abort', () => call.cancel(), { once: true });
  if (signal?.aborted === true) call.cancel();
  try {
    const sealed = envelope.sealJson(member, `${subject} ${id}`, head);
    connection.nc.publish(subject, sealed, { reply: answerSubject(member, id) });
    const acknowledged = acknowledgement(await within(call, clock));
    if (body !== undefined) void sendBody(call, body);
    return { machine: acknowledged, ...answerHead(await expected(call, 'head')), body: wholeBody(call) };
  } catch (error) {
    call.cancel();
    throw error;
  }
}

/** A machine's answer to the question who is here. */
export interface MachineReport {
  readonly member: string;
  readonly machine: string;
  /** The computer's name. */
  readonly name: string;
  readonly version: string;
  /** When this machine joined as this member, in Unix milliseconds. The first one is asked first. */
  readonly sinceMs: number;
  readonly atMs: number;
  /** The newest row that the stream has. */
  readonly row: number;
  /** Number of rows that the stream does not have yet, at most. */
  readonly behind: number;
  /** Number of rows that were older than the stream keeps when they could be published. They have no event. */
  readonly late: number;
  /** Why the machine cannot read Messages, or publish; null if it can. */
  readonly problem: string | null;
}

/** Asks all machines, and returns what comes within `ms` milliseconds. A machine can report only for its own member. */
export async function who(
  {
    connection,
    envelope,
    clock,
  }: Omit<Asking, 'connection'> & { readonly connection: Pick<FleetConnection, 'isConnected' | 'nc'> },
  ms: number,
): Promise<readonly MachineReport[]> {
  if (!connection.isConnected) throw brokerAway();
  const question = randomBytes(16).toString('base64url');
  const reports: MachineReport[] = [];
  const subscription = connection.nc.subscribe(whoAnswers(question), {
    callback: (error, { subject, data }) => {
      if (error !== null) return;
      try {
        const member = memberOfSubject(subject);
        const read = envelope.openJson(member, subject, data);
        if (isReport(read)) reports.push({ ...read, member });
      } catch {
        // A machine whose key was replaced, or one that lies, is as good as away.
      }
    },
  });
  connection.nc.publish(WHO, Buffer.from(question));
  await new Promise<void>((resolve) => void clock.after(ms, resolve));
  subscription.unsubscribe();
  return reports;
}

/** At a machine: a request as it came in. */
export interface Received extends RequestHead {
  readonly id: string;
  readonly hasBody: boolean;
  /** When the hub asked, in Unix milliseconds of its clock. */
  readonly atMs: number;
}

/** At a machine: opens a request. Throws AppError `fleet_content_unreadable`. */
export function readRequest(envelope: Envelope, member: string, { subject, reply = '', data }: Msg): Received {
  const id = reply.split('.')[2] ?? '';
  if (!isCallId(id) || reply !== answerSubject(member, id)) throw unreadable('it does not say where to answer');
  const read = envelope.openJson(member, `${subject} ${id}`, data);
  if (!isRecord(read)) throw unreadable('it is no request');
  const { method, path, headers, isOwner, hasBody, atMs } = read;
  if (
    typeof method !== 'string' ||
    typeof path !== 'string' ||
    !path.startsWith('/') ||
    !isHeaders(headers) ||
    typeof atMs !== 'number'
  ) {
    throw unreadable('it is no request');
  }
  return { id, method, path, headers, isOwner: isOwner === true, hasBody: hasBody === true, atMs };
}

/** At a machine: returns where to answer the question who is here; undefined if it is no such question. */
export function whoSubject(member: string, { data }: Msg): string | undefined {
  const question = Buffer.from(data).toString('latin1');
  return isCallId(question) ? answerSubject(member, question) : undefined;
}

function isCallId(text: string): boolean {
  return /^[\w-]{22}$/.test(text);
}

async function within(call: Call, clock: Clock): Promise<Uint8Array> {
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(ACK_MS, () => reject(new Unanswered('silent')));
  });
  try {
    return await Promise.race([expected(call, 'ack'), late]);
  } finally {
    cancel();
  }
}

/** Returns the bytes of the next part. Throws what the machine refuses. */
async function expected(call: Call, wanted: 'ack' | 'head'): Promise<Uint8Array> {
  const { kind, bytes } = await call.next();
  if (kind === wanted) return bytes;
  throw kind === 'failed' ? refusal(parsedJson(bytes)) : invalidAnswer();
}

/** What a machine may refuse by itself. Everything else is an answer of its API. */
const REFUSALS: ReadonlyMap<unknown, readonly [status: number, detail: string]> = new Map([
  [
    'clock_differs',
    [503, 'The clocks of the hub and of the Mac differ by more than a minute, or the request was late.'],
  ],
  ['mac_busy', [503, 'The Mac is answering too many requests already.']],
  ['mac_service_away', [503, 'The Mac took the request, but its service did not answer.']],
  [
    'fleet_stream',
    [400, 'Endless streams of one Mac do not pass through a hub. Ask the hub: GET /api/v1/events?mac=ID.'],
  ],
]);

function refusal(given: unknown): AppError {
  const code = isRecord(given) ? given.code : undefined;
  const known = REFUSALS.get(code);
  return known === undefined ? invalidAnswer() : new AppError(String(code), known[1], { status: known[0] });
}

function invalidAnswer(): AppError {
  return new AppError('mac_answer_invalid', 'The Mac returned an answer that cannot be understood.', {
    status: 502,
    hint: 'Check that the hub and the Mac run the same version of Postern.',
  });
}

function acknowledgement(bytes: Uint8Array): string {
  const read = parsedJson(bytes);
  const machine = isRecord(read) ? read.machine : undefined;
  if (typeof machine === 'string' && MACHINE.test(machine)) return machine;
  throw invalidAnswer();
}

function answerHead(bytes: Uint8Array): Pick<MacAnswer, 'status' | 'headers'> {
  const read = parsedJson(bytes);
  if (!isRecord(read)) throw invalidAnswer();
  const { status, headers } = read;
  if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599 && isHeaders(headers)) {
    return { status, headers };
  }
  throw invalidAnswer();
}

/** Yields the answer's body. Both sides know that the call is over once it is whole. */
async function* wholeBody(call: Call): AsyncGenerator<Uint8Array, void, undefined> {
  yield* call.body();
  call.close();
}

/** A machine may answer before it has the whole body, so a call that is over is no failure here. */
async function sendBody(call: Call, body: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const bytes of body) await call.write(bytes);
    call.send('end');
  } catch {
    call.cancel();
  }
}

function isHeaders(given: unknown): given is PassedHeaders {
  if (!isRecord(given)) return false;
  const all = Object.entries(given);
  return all.length <= MAX_HEADERS && all.every(([name, value]) => /^[a-z0-9-]{1,64}$/.test(name) && isValue(value));
}

function isValue(given: unknown): boolean {
  if (Array.isArray(given)) {
    return given.length <= MAX_HEADERS && given.every((one) => !Array.isArray(one) && isValue(one));
  }
  return typeof given === 'string' && /^[\t\x20-\x7e\x80-\xff]{0,8192}$/.test(given);
}

function isReport(given: unknown): given is MachineReport {
  if (!isRecord(given)) return false;
  const { member, machine, name, version, problem } = given;
  const numbers = ['sinceMs', 'atMs', 'row', 'behind', 'late'].map((key) => given[key]);
  const texts = [name, version, ...(problem === null ? [] : [problem])];
  return (
    typeof member === 'string' &&
    isMember(member) &&
    typeof machine === 'string' &&
    MACHINE.test(machine) &&
    numbers.every((one) => Number.isSafeInteger(one) && Number(one) >= 0) &&
    texts.every((one) => typeof one === 'string' && one.length <= 500)
  );
}

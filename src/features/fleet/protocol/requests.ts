import { randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { pipeline } from 'node:stream';
import type { Msg } from '@nats-io/nats-core';
import type { AppError } from '../../../core/model/errors.ts';
import type { Clock } from '../../../core/model/ports/host-ports.ts';
import { isRecord } from '../../../core/model/record.ts';
import { fleetProblem, REFUSALS } from '../problems.ts';
import { Call, Refused, Unanswered } from './call.ts';
import { brokerAway, type FleetConnection, type FleetParts } from './connection.ts';
import { type Envelope, unreadable } from './envelope.ts';
import {
  answerSubject,
  isMember,
  isOfBroker,
  MACHINE,
  memberOfSubject,
  requestSubject,
  WHO,
  whoAnswers,
} from './subjects.ts';

/** Time in which a machine acknowledges a request. After that, the answer may take as long as at the machine itself. */
const ACK_MS = 2000;
/** The most machines that a Mac can have: far more than a pair, and no more than a Mac that lies may make up. */
export const MAX_MACHINES = 8;

/** A request for the API of a machine. */
export interface Question {
  readonly member: string;
  /** Undefined: any machine of the member. */
  readonly machine?: string | undefined;
  readonly method: string;
  /** Path and query, such as `/api/v1/messages?limit=5`. */
  readonly path: string;
  readonly headers: PassedHeaders;
  /** True if the client had the hub's key: the machine then adds its owner's. */
  readonly isOwner: boolean;
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
}

/** Key: the name in lower case. */
export type PassedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface MacAnswer {
  readonly machine: string;
  readonly status: number;
  readonly headers: PassedHeaders;
  readonly body: AsyncGenerator<Uint8Array, void, undefined>;
  /** Ends the request at the machine, unless the body has been read to its end. */
  readonly end: () => void;
}

export type Asking = Omit<FleetParts, 'log'>;

/**
 * Passes a request to a machine: HTTP/1.1 over a call, once the machine has acknowledged it. Throws `Unanswered`,
 * `broker_away`, what the machine itself refuses (`clock_differs`, `mac_busy`, `fleet_stream`, `mac_service_away`), and
 * `mac_answer_invalid`.
 */
export async function ask(asking: Asking, question: Question): Promise<MacAnswer> {
  const { connection, envelope, clock } = asking;
  const { member, machine, isOwner, signal } = question;
  const id = randomBytes(16).toString('base64url');
  const subject = requestSubject(member, machine);
  const call = new Call({ ...asking, member, id }, 'hub');
  signal?.addEventListener('abort', () => call.destroy(), { once: true });
  try {
    signal?.throwIfAborted();
    const sealed = envelope.sealJson(member, `${subject} ${id}`, { isOwner, atMs: clock.now() });
    connection.nc.publish(subject, sealed, { reply: answerSubject(member, id) });
    const answering = await acknowledgement(call, clock);
    const response = await answerOf(call, question);
    const { statusCode: status = 0, headers } = response;
    if (status < 200 || status > 599) throw fleetProblem('mac_answer_invalid');
    return { machine: answering, status, headers, body: bodyOf(response), end: () => void response.destroy() };
  } catch (error) {
    call.destroy();
    throw error instanceof Refused ? refusal(error.code) : error;
  }
}

/** Returns the headers with what says that a body of unknown length follows. */
export function framed(headers: PassedHeaders, hasBody: boolean): OutgoingHttpHeaders {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]] as const],
  );
  const isUnframed = hasBody && headers['content-length'] === undefined;
  return { ...Object.fromEntries(given), ...(isUnframed && { 'transfer-encoding': 'chunked' }) };
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

/**
 * Asks all machines, and returns what comes within `ms` milliseconds. A machine can report only for its own member.
 * Reads only the first `MAX_MACHINES` answers for each member.
 */
export async function who(
  {
    connection,
    envelope,
    clock,
  }: Omit<Asking, 'connection'> & { connection: Pick<FleetConnection, 'isConnected' | 'nc'> },
  ms: number,
): Promise<readonly MachineReport[]> {
  if (!connection.isConnected) throw brokerAway();
  const question = randomBytes(16).toString('base64url');
  const reports: MachineReport[] = [];
  const answers = new Map<string, number>();
  const subscription = connection.nc.subscribe(whoAnswers(question), {
    callback: (error, { subject, data }) => {
      if (error !== null || isOfBroker(data)) return;
      try {
        const member = memberOfSubject(subject);
        const count = (answers.get(member) ?? 0) + 1;
        answers.set(member, count);
        if (count > MAX_MACHINES) return;
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
export interface Received {
  readonly id: string;
  readonly isOwner: boolean;
  /** When the hub asked, in Unix milliseconds of its clock. */
  readonly atMs: number;
}

/** At a machine: opens a request. Throws AppError `fleet_content_unreadable`. */
export function readRequest(envelope: Envelope, member: string, { subject, reply = '', data }: Msg): Received {
  const id = reply.split('.')[2] ?? '';
  if (!isCallId(id) || reply !== answerSubject(member, id)) throw unreadable('it does not say where to answer');
  const read = envelope.openJson(member, `${subject} ${id}`, data);
  if (!isRecord(read) || typeof read.atMs !== 'number') throw unreadable('it is no request');
  return { id, isOwner: read.isOwner === true, atMs: read.atMs };
}

/** At a machine: returns where to answer the question who is here; undefined if it is no such question. */
export function whoSubject(member: string, { data }: Msg): string | undefined {
  const question = Buffer.from(data).toString('latin1');
  return isCallId(question) ? answerSubject(member, question) : undefined;
}

function isCallId(text: string): boolean {
  return /^[\w-]{22}$/.test(text);
}

/** Resolves with the machine that has taken the request. */
function acknowledgement(call: Call, clock: Clock): Promise<string> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ACK_MS, () => call.destroy(new Unanswered('silent')));
    call.once('close', () => {
      cancel();
      reject(call.errored ?? new Unanswered('cut'));
    });
    call.once('ack', (machine: string) => {
      cancel();
      if (MACHINE.test(machine)) resolve(machine);
      else reject(fleetProblem('mac_answer_invalid'));
    });
  });
}

/** Makes the request over the call. Resolves once the answer begins. Rejects if the call ends before that. */
function answerOf(call: Call, { method, path, headers, body }: Question): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const cut = (): void => reject(call.errored ?? new Unanswered('cut'));
    // A request over a call that has ended already tells nobody.
    if (call.destroyed) return cut();
    call.once('close', cut);
    const hasBody = body !== undefined;
    const request = httpRequest({ createConnection: () => call, method, path, headers: framed(headers, hasBody) });
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code?.startsWith('HPE_')) reject(fleetProblem('mac_answer_invalid'));
      else cut();
    });
    request.on('upgrade', () => reject(fleetProblem('mac_answer_invalid')));
    request.on('response', resolve);
    // A machine may answer before it has the whole body.
    if (hasBody) pipeline(body, request, () => {});
    else request.end();
  });
}

async function* bodyOf(response: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of response) yield piece as Uint8Array;
}

/** Returns the error with which a machine refused a request itself. Everything else is an answer of its API. */
function refusal(code: string): AppError {
  return fleetProblem(REFUSALS.find((known) => known === code) ?? 'mac_answer_invalid');
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

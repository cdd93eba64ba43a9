import { createHmac } from 'node:crypto';
import { type ConsumerMessages, JetStreamApiError } from '@nats-io/jetstream';

export { isMember, MACHINE } from './names.ts';

// The names at the broker that Macs, hubs and the desk share.

/** The stream of events: one subject for each, so that the broker refuses an event the second time. */
export const EVENTS = 'EV';
/** The stream of the webhooks' deliveries: the newest 100 of each webhook. */
export const DELIVERIES = 'WD';
export const BUCKETS = ['webhooks', 'claims'] as const;
/** Every stream of a fleet, with those of its buckets. */
export const STREAMS: readonly string[] = [EVENTS, DELIVERIES, ...BUCKETS.map((bucket) => `KV_${bucket}`)];

/** The question to all machines who they are and how they do. */
export const WHO = 'rq.all.who';

/** Maximum size of an event, so that a Mac that was taken over cannot fill the memory of a hub, which keeps 2,000. */
export const MAX_EVENT_BYTES = 131_072;

/** A Mac, by its name and the seed of its nkey, which its machines share. */
interface Publisher {
  readonly member: string;
  readonly seed: string;
}

/**
 * Returns the subject of an event. `kind` is `row` for a new row, and names what changed for a change, so that both
 * machines of a member agree. Nobody without the member's seed can know the subject: the broker answers a publish at
 * whatever subject the publisher names, so another Mac could occupy it with such an answer, and the event of a message
 * that both have received would be lost.
 */
export function eventSubject({ member, seed }: Publisher, guid: string, kind: string): string {
  const hash = createHmac('sha256', seed)
    .update(JSON.stringify([member, guid, kind]))
    .digest('base64url');
  return `ev.${member}.${hash.slice(0, 22)}`;
}

/**
 * Reports whether the broker wrote this, as the answer to a publish or to a question about a stream. A Mac can make
 * such an answer appear at any subject. It is a JSON object; what is sealed begins with the id of a key and ends with
 * random bytes, so that no key has an id with which everything looks like an answer.
 */
export function isOfBroker(data: Uint8Array): boolean {
  return data[0] === 0x7b && data[1] === 0x22 && data.at(-1) === 0x7d;
}

/** Returns all events' subject of one member, or of all. */
export function eventsOf(member?: string): string {
  return member === undefined ? 'ev.>' : `ev.${member}.>`;
}

export function memberOfSubject(subject: string): string {
  return subject.split('.')[1] ?? '';
}

/** Without a machine, any machine of the member answers. */
export function requestSubject(member: string, machine?: string): string {
  return machine === undefined ? `rq.${member}.any` : `rq.${member}.at.${machine}`;
}

/** The subject to which the hub sends the parts of a request after its head. `call` is the request's random id. */
export function toMacSubject(member: string, call: string): string {
  return `rq.${member}.to.${call}`;
}

/** The subject at which a machine answers. Only this member may publish there, and only hubs may read it. */
export function answerSubject(member: string, call: string): string {
  return `an.${member}.${call}`;
}

/** The subject at which machines with this name, of which there should be one, hear each other. */
export function presenceSubject(member: string, machine: string): string {
  return `an.${member}.here.${machine}`;
}

export function whoAnswers(question: string): string {
  return `an.*.${question}`;
}

export function deliverySubject(webhook: string): string {
  return `wd.${webhook}`;
}

/** Returns the name of a hub's connection. */
export function hubName(id: string): string {
  return `HUB.${id}`;
}

/** Returns the inbox of a connection: `HUB.<id>` for a hub, `<member>.<machine>` for a Mac. */
export function inboxPrefix(name: string): string {
  return `_INBOX_${name}`;
}

/** Returns the answer of `ask`; undefined if the stream, consumer or message does not exist. */
export async function unlessMissing<Found>(ask: () => Promise<Found | null>): Promise<Found | undefined> {
  try {
    return (await ask()) ?? undefined;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** The reports of the NATS client when a consumer is gone, or has no leader. */
const DOUBTS: ReadonlySet<string> = new Set([
  ...['heartbeats_missed', 'no_responders', 'consumer_deleted', 'consumer_not_found', 'stream_not_found'],
]);

/**
 * Ends the messages of a consumer as soon as it is in doubt, so that their reader asks for it again. The client itself
 * would pull from a lost consumer without end, and wait up to ten seconds between its questions for one without a
 * leader.
 */
export async function endInDoubt(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (DOUBTS.has(type)) messages.stop();
}

/**
 * Reports whether the broker has this event already. Code 10077 also means a full stream: only the text tells them
 * apart.
 */
export function isTaken(error: unknown): boolean {
  return error instanceof JetStreamApiError && /maximum messages per subject/.test(error.message);
}

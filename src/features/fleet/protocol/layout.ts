import type { FleetOperation } from './fleet-reads-schema.ts';

// The names at the broker that agents, hubs and `postern fleet` share.

/** The stream of events. Each Mac has one subject, because the server checks the order of messages per subject. */
export const EVENTS = { stream: 'EV', subjects: 'ev.*' } as const;
/** The work queue of sends. Each Mac has one subject and one durable consumer. */
export const SENDS = { stream: 'SEND', subjects: 'send.*' } as const;

/**
 * Maximum number of waiting sends, for all Macs together. With a limit of 100 for each subject, server 2.9.10 once
 * refused a send although none was waiting.
 */
export const MAX_SENDS = 10_000;

/** Key-value buckets. */
export const BUCKETS = {
  /**
   * The presence of each Mac (key: its id), the claim of each Mac (key: `claimKey`), and the pairs (key: `pairKey`).
   */
  macs: 'macs',
  /** The outcomes of sends (key: `outcomeKey`), and the hubs' claims of Idempotency-Keys (prefix: `SEND_CLAIMS`). */
  outcomes: 'outcomes',
  /**
   * The lease of webhooks, which contains the settings of all webhooks; the leases of pairs' sends; and the broker's
   * clock.
   */
  webhooks: 'webhooks',
} as const;
export type Bucket = (typeof BUCKETS)[keyof typeof BUCKETS];

/** The streams of a fleet, including those of its buckets. */
export const STREAMS: readonly string[] = [
  EVENTS.stream,
  SENDS.stream,
  ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`),
];

/** Maximum number of messages in one reply: enough for a page of the longest messages. */
export const MAX_PARTS = 64;

/** Names of the headers of all messages: events, sends, requests and replies. */
export const HEADERS = {
  /** NATS's header: for an event its `eventId`, for a send the id of the attempt. */
  messageId: 'Nats-Msg-Id',
  /** NATS's header: the sequence that the newest message of the event's subject must have. */
  previousSequence: 'Nats-Expected-Last-Subject-Sequence',
  /** Version of the message. Readers refuse versions that they do not know. */
  version: 'V',
  /** Row id in chat.db or, in a chain of changes, the number of the change. */
  row: 'Row',
  /** Row id published before this one; 0 for the first of an epoch. */
  previousRow: 'Prev-Row',
  epoch: 'Epoch',
  /** Sequence of the previous message of the same chain. If absent, it equals `previousSequence`. */
  chainSequence: 'Prev-Seq',
  /** The `other` of an EventMessage: the state of the Mac's other chain. */
  otherChain: 'Other',
  /** The event's type. */
  type: 'Type',
  /** `metadata` if body and attachments were omitted. */
  content: 'Content',
  /** Identifies the run of the agent that published the event. */
  instance: 'Instance',
  /** Id of the content key; absent if the body is plain. */
  key: 'Key',
  /** Position within a reply in several messages, such as `1/3`. */
  part: 'Part',
} as const;
export const VERSION = 1;

/**
 * The question whether another agent already has a Mac id. An agent asks it before it takes part in the fleet. Only an
 * agent that has the id answers.
 */
export const WHO = 'who';

/** A Mac counts as away after this long without a sign of life. */
export const AWAY_MS = 30_000;
export const PRESENCE_EVERY_MS = 10_000;

export function eventSubject(mac: string): string {
  return `ev.${mac}`;
}

export function sendSubject(mac: string): string {
  return `send.${mac}`;
}

/** Returns the name of the durable consumer of a Mac's sends. */
export function sendConsumer(mac: string): string {
  return `agent-${mac}`;
}

export function readSubject(mac: string, operation: FleetOperation | typeof WHO): string {
  return `rd.${mac}.${operation}`;
}

/** Returns the key of the entry in `macs` that names the machine to which a Mac's identity belongs. */
export function claimKey(mac: string): string {
  return `machine_${mac}`;
}

/** Returns the key of a send in `outcomes`, made of a hash because the Idempotency-Key may contain anything. */
export function outcomeKey(mac: string, keyHash: string): string {
  return `${mac}.${keyHash}`;
}

/**
 * Prefix of the keys in `outcomes` under which hubs claim an Idempotency-Key. No `outcomeKey` has this prefix, because
 * no Mac id has an underscore.
 */
export const SEND_CLAIMS = 'claims_';

/**
 * Returns the subject at which an agent announces an outcome to waiting hubs. The broker does not store announcements,
 * but the bucket `outcomes` contains the final outcomes.
 */
export function outcomeSubject(mac: string, keyHash: string): string {
  return `done.${mac}.${keyHash}`;
}

/** Requests from hubs to agents. */
export const READS = 'rd.>';
/** Messages between hubs. */
export const HUB_SUBJECTS = 'wh.*';
/** Requests to the hub that delivers to the webhooks. */
export const HUB_CALL = 'wh.call';
/** Announces changed webhooks. */
export const HUB_NEWS = 'wh.news';
/** Outcomes that agents announce. */
export const OUTCOMES = 'done.>';

/** Returns the name of a hub's connection. Mac ids have no capitals, so no Mac has the right to a hub's inbox. */
export function hubName(id: string): string {
  return `HUB.${id}`;
}

/** Name of the connection of a machine that asks to join. Mac ids have no capitals, so no Mac has this name. */
export const JOINER = 'JOIN';

/**
 * Returns the subject at which a machine asks to join as this Mac. The operator's machine answers while an invitation
 * is open.
 */
export function joinSubject(mac: string): string {
  return `join.${mac}`;
}

export function inboxPrefix(name: string): string {
  return `_INBOX_${name}`;
}

/** Names in the broker: agents, hubs and `postern fleet` agree on them here alone. */

/** The stream of events: one subject for each Mac, because the chain of publishing is per subject. */
export const EVENTS = { stream: 'EV', subjects: 'ev.*' } as const;
/** The work queue of sends: one subject and one durable consumer for each Mac. */
export const SENDS = { stream: 'SEND', subjects: 'send.*' } as const;

/**
 * Sends that wait, of all Macs together: limited to 100 for each subject, server 2.9.10 once refused one behind which
 * none waited.
 */
export const MAX_SENDS = 10_000;

/** Key-value buckets. */
export const BUCKETS = {
  /** Presence of Macs, by mac. */
  macs: 'macs',
  /** Outcomes of sends, by `outcomeKey`. */
  outcomes: 'outcomes',
  /** The lease of webhooks, and the settings of each. */
  webhooks: 'webhooks',
} as const;
export type Bucket = (typeof BUCKETS)[keyof typeof BUCKETS];

/** Headers of the messages in both streams, and of requests and replies. */
export const HEADERS = {
  /** NATS's own: events have `eventId`, sends their idempotency key. */
  messageId: 'Nats-Msg-Id',
  /** NATS's own: the sequence that an event says is the newest of its subject. */
  previousSequence: 'Nats-Expected-Last-Subject-Sequence',
  /** Version of the message; a reader refuses what is newer than it knows. */
  version: 'V',
  /** Row id in chat.db. */
  row: 'Row',
  /** Row id that was published before this one; 0 for the first of an epoch. */
  previousRow: 'Prev-Row',
  epoch: 'Epoch',
  /** Type of the event. */
  type: 'Type',
  /** `metadata` when body and attachments were left out. */
  content: 'Content',
  /** Which run of an agent published it. */
  instance: 'Instance',
  /** Id of the content key; absent when the body is plain. */
  key: 'Key',
  /** Of a reply in several messages: `1/3`. */
  part: 'Part',
} as const;
export const VERSION = 1;

/** What an agent answers, and nothing else. */
export const FLEET_OPERATIONS = [
  'listMessages',
  'message',
  'listConversations',
  'conversation',
  'attachment',
  'attachmentMistakes',
  'status',
  'events',
  'knowsKey',
] as const;
export type FleetOperation = (typeof FLEET_OPERATIONS)[number];
/** Asked by an agent that starts: another agent that answers has the same id. */
export const WHO = 'who';

/** Bytes of an attachment in one reply. */
export const CHUNK_BYTES = 128 * 1024;
/** A Mac that was not heard of for so long is away. */
export const AWAY_MS = 30_000;
export const PRESENCE_EVERY_MS = 10_000;

export function eventSubject(mac: string): string {
  return `ev.${mac}`;
}

export function sendSubject(mac: string): string {
  return `send.${mac}`;
}

/** Name of the durable consumer that hands a Mac its sends. */
export function sendConsumer(mac: string): string {
  return `agent-${mac}`;
}

export function readSubject(mac: string, operation: FleetOperation | typeof WHO): string {
  return `rd.${mac}.${operation}`;
}

/** The key of a send in `outcomes`; the idempotency key itself may hold anything. */
export function outcomeKey(mac: string, keyHash: string): string {
  return `${mac}.${keyHash}`;
}

/** Keys in `outcomes` begin with it that hubs write: what an Idempotency-Key was used for. No mac has an underscore. */
export const SEND_CLAIMS = 'claims_';

/** Where an agent says what became of a send, for the hubs that wait: stored nowhere, unlike the bucket. */
export function outcomeSubject(mac: string, keyHash: string): string {
  return `done.${mac}.${keyHash}`;
}

/** Requests to agents, of hubs. */
export const READS = 'rd.>';
/** Messages among hubs. */
export const HUB_SUBJECTS = 'wh.*';
/** Requests to the hub that delivers to the webhooks. */
export const HUB_CALL = 'wh.call';
/** Says that webhooks have changed. */
export const HUB_NEWS = 'wh.news';
/** What agents say became of sends. */
export const OUTCOMES = 'done.>';

/** Name of the connection of a hub: no mac id has large letters, so that no Mac may listen to the inboxes of hubs. */
export function hubName(id: string): string {
  return `HUB.${id}`;
}

export function inboxPrefix(name: string): string {
  return `_INBOX_${name}`;
}

/** What an agent may publish to and subscribe to: what it uses, and nothing of another Mac. Replies come on top. */
export function agentRights(mac: string): {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
} {
  const consumer = `${SENDS.stream}.${sendConsumer(mac)}`;
  return {
    publish: [
      eventSubject(mac),
      `$KV.${BUCKETS.macs}.${mac}`,
      `$KV.${BUCKETS.outcomes}.${mac}.>`,
      `done.${mac}.>`,
      // When the stream was created.
      `$JS.API.STREAM.INFO.${EVENTS.stream}`,
      `$JS.API.DIRECT.GET.${EVENTS.stream}.${eventSubject(mac)}`,
      `$JS.API.CONSUMER.INFO.${consumer}`,
      `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
      // With and without a domain in front, as the server writes them.
      `$JS.ACK.${consumer}.>`,
      `$JS.ACK.*.*.${consumer}.>`,
      readSubject(mac, WHO),
    ],
    subscribe: [`rd.${mac}.>`, `${inboxPrefix(mac)}.>`],
  };
}

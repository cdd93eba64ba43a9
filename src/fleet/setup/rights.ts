import {
  agentRights,
  BUCKETS,
  EVENTS,
  HUB_SUBJECTS,
  hubName,
  inboxPrefix,
  JOINER,
  joinSubject,
  OUTCOMES,
  READS,
  SEND_CLAIMS,
  SENDS,
} from '../protocol/layout.ts';

/** The rights of a user of the broker. Other subjects are refused. */
export interface Rights {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** Maximum number of replies to one request, on the subject that the request named. */
  readonly answers: number;
}

/** Number of parts in which long answers and attachments may arrive. */
const MAX_ANSWERS = 64;

/** Returns the rights of a Mac: to its own subjects, and to none of another Mac. */
export function macRights(mac: string): Rights {
  return { ...agentRights(mac), answers: MAX_ANSWERS };
}

/** The rights of hubs. They read everything and send to every Mac, but create and delete no streams. */
export const HUB_RIGHTS: Rights = {
  publish: [
    SENDS.subjects,
    READS,
    HUB_SUBJECTS,
    `$KV.${BUCKETS.webhooks}.>`,
    // For claims of Idempotency-Keys. No Mac has this id.
    `$KV.${BUCKETS.outcomes}.${SEND_CLAIMS}.*`,
    '$JS.API.INFO',
    `$JS.API.STREAM.INFO.${SENDS.stream}`,
    `$JS.API.CONSUMER.INFO.${SENDS.stream}.*`,
    ...[EVENTS.stream, ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)].flatMap(reading),
  ],
  subscribe: [HUB_SUBJECTS, OUTCOMES, `$KV.${BUCKETS.macs}.*`, inboxPrefix(hubName('>'))],
  answers: MAX_ANSWERS,
};

/** The rights of a machine with a token, which may ask to join. */
export const JOINER_RIGHTS: Rights = {
  publish: [joinSubject('*')],
  subscribe: [`${inboxPrefix(JOINER)}.>`],
  answers: 0,
};

/** The rights to ask the servers for their settings. */
export const SYSTEM_RIGHTS: Rights = {
  publish: ['$SYS.REQ.SERVER.PING.JSZ'],
  subscribe: ['_INBOX.>'],
  answers: 0,
};

function reading(stream: string): readonly string[] {
  const api = '$JS.API';
  return [
    `${api}.STREAM.INFO.${stream}`,
    `${api}.STREAM.MSG.GET.${stream}`,
    `${api}.DIRECT.GET.${stream}`,
    `${api}.DIRECT.GET.${stream}.>`,
    ...['CREATE', 'INFO', 'DELETE', 'MSG.NEXT'].map((what) => `${api}.CONSUMER.${what}.${stream}.>`),
    `$JS.ACK.${stream}.>`,
    `$JS.FC.${stream}.>`,
  ];
}

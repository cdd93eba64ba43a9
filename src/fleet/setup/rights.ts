import {
  agentRights,
  BUCKETS,
  EVENTS,
  HUB_SUBJECTS,
  hubName,
  inboxPrefix,
  OUTCOMES,
  READS,
  SEND_CLAIMS,
  SENDS,
} from '../protocol/layout.ts';

/** What a user of the broker may do: these subjects, and everything else is refused. */
export interface Rights {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** How many messages may answer one request, on the subject that the request named. */
  readonly answers: number;
}

/** A long answer comes in parts, and so does an attachment. */
const MAX_ANSWERS = 64;

/** One Mac: its own subjects, and nothing of another one. */
export function macRights(mac: string): Rights {
  return { ...agentRights(mac), answers: MAX_ANSWERS };
}

/** Hubs read everything and send to every Mac. They create and delete no stream. */
export const HUB_RIGHTS: Rights = {
  publish: [
    SENDS.subjects,
    READS,
    HUB_SUBJECTS,
    `$KV.${BUCKETS.webhooks}.>`,
    // Which key a hub uses for which send; no Mac has an id like this.
    `$KV.${BUCKETS.outcomes}.${SEND_CLAIMS}.*`,
    '$JS.API.INFO',
    `$JS.API.STREAM.INFO.${SENDS.stream}`,
    `$JS.API.CONSUMER.INFO.${SENDS.stream}.*`,
    ...[EVENTS.stream, ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)].flatMap(reading),
  ],
  subscribe: [HUB_SUBJECTS, OUTCOMES, `$KV.${BUCKETS.macs}.*`, inboxPrefix(hubName('>'))],
  answers: MAX_ANSWERS,
};

/** Asks the servers how they are set up, and nothing else. */
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

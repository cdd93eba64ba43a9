import {
  agentRights,
  BUCKETS,
  HUB_SUBJECTS,
  hubName,
  inboxPrefix,
  JOINER,
  joinSubject,
  MAX_PARTS,
  OUTCOMES,
  READS,
  SEND_CLAIMS,
  SENDS,
  STREAMS,
} from '../protocol/layout.ts';

/** The rights of a user of the broker. Other subjects are refused. */
export interface Rights {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** Maximum number of replies to one request, on the subject that the request named. */
  readonly answers: number;
}

/** Returns the rights of a Mac: to its own subjects, and to none of another Mac. */
export function macRights(mac: string): Rights {
  return { ...agentRights(mac), answers: MAX_PARTS };
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
    ...STREAMS.filter((stream) => stream !== SENDS.stream).flatMap(reading),
  ],
  subscribe: [HUB_SUBJECTS, OUTCOMES, `$KV.${BUCKETS.macs}.*`, inboxPrefix(hubName('>'))],
  answers: MAX_PARTS,
};

/** The rights of a machine with a token, which may ask to join. */
export const JOINER_RIGHTS: Rights = {
  publish: [joinSubject('*')],
  subscribe: [`${inboxPrefix(JOINER)}.>`],
  answers: 0,
};

/** The rights of the system user, which asks the servers for their settings. */
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

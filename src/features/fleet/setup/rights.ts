import {
  BUCKETS,
  claimKey,
  EVENTS,
  eventSubject,
  HUB_SUBJECTS,
  hubName,
  inboxPrefix,
  JOINER,
  joinSubject,
  MAX_PARTS,
  OUTCOMES,
  READS,
  readSubject,
  SEND_CLAIMS,
  SENDS,
  STREAMS,
  sendConsumer,
  WHO,
} from '../protocol/layout.ts';

/** The subjects that a user of the broker may publish and subscribe to. The broker refuses all others. */
export interface Rights {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /**
   * Maximum number of replies to one request; 0 allows none. Replies go to the reply subject that the request names.
   */
  readonly answers: number;
}

/** Returns the rights of a Mac. They include no subject of another Mac. */
export function macRights(mac: string): Rights {
  const consumer = `${SENDS.stream}.${sendConsumer(mac)}`;
  const [presence, claim] = [`$KV.${BUCKETS.macs}.${mac}`, `$KV.${BUCKETS.macs}.${claimKey(mac)}`];
  return {
    publish: [
      eventSubject(mac),
      presence,
      claim,
      `$KV.${BUCKETS.outcomes}.${mac}.>`,
      `done.${mac}.>`,
      // Needed to read the stream's creation time.
      `$JS.API.STREAM.INFO.${EVENTS.stream}`,
      `$JS.API.DIRECT.GET.${EVENTS.stream}.${eventSubject(mac)}`,
      // Needed to read the Mac's own last presence and claim.
      ...[presence, claim].map((subject) => `$JS.API.DIRECT.GET.KV_${BUCKETS.macs}.${subject}`),
      `$JS.API.CONSUMER.INFO.${consumer}`,
      `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
      // For acknowledging sends. The server writes these subjects with or without a domain before the stream's name.
      `$JS.ACK.${consumer}.>`,
      `$JS.ACK.*.*.${consumer}.>`,
      readSubject(mac, WHO),
    ],
    subscribe: [`rd.${mac}.>`, `${inboxPrefix(mac)}.>`],
    answers: MAX_PARTS,
  };
}

/** The rights of hubs. Hubs can read everything and send to every Mac, but cannot create or delete streams. */
export const HUB_RIGHTS: Rights = {
  publish: [
    SENDS.subjects,
    READS,
    HUB_SUBJECTS,
    `$KV.${BUCKETS.webhooks}.>`,
    // For claims of Idempotency-Keys. The claims share a bucket with the Macs' outcomes, but no outcome has this
    // prefix.
    `$KV.${BUCKETS.outcomes}.${SEND_CLAIMS}.*`,
    '$JS.API.INFO',
    `$JS.API.STREAM.INFO.${SENDS.stream}`,
    `$JS.API.CONSUMER.INFO.${SENDS.stream}.*`,
    ...STREAMS.filter((stream) => stream !== SENDS.stream).flatMap(reading),
  ],
  subscribe: [HUB_SUBJECTS, OUTCOMES, `$KV.${BUCKETS.macs}.*`, inboxPrefix(hubName('>'))],
  answers: MAX_PARTS,
};

/** The rights of a machine with a join token, which can only ask to join. */
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

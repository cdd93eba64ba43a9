import {
  BUCKETS,
  EVENTS,
  eventsOf,
  hubName,
  inboxPrefix,
  presenceSubject,
  STREAMS,
  WHO,
} from '../protocol/subjects.ts';

/** The subjects that a user of the broker may publish and subscribe to. The broker refuses all others. */
export interface Rights {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

const API = '$JS.API';

/** A Mac writes its own events and answers, and reads only what it needs to find its own events in the stream. */
export function macRights(member: string): Rights {
  return {
    publish: [eventsOf(member), `an.${member}.>`, `${API}.STREAM.INFO.${EVENTS}`],
    subscribe: [`rq.${member}.>`, WHO, presenceSubject(member, '*'), `${inboxPrefix(member)}.>`],
  };
}

/** Hubs read everything and ask every Mac, but write no events and delete no stream. */
export const HUB_RIGHTS: Rights = {
  publish: ['rq.>', ...BUCKETS.map((bucket) => `$KV.${bucket}.>`), 'wd.*', `${API}.INFO`, ...STREAMS.flatMap(reading)],
  subscribe: ['an.>', inboxPrefix(hubName('>'))],
};

/** The system user asks the servers for their versions and storage. */
export const SYSTEM_RIGHTS: Rights = { publish: ['$SYS.REQ.SERVER.PING.JSZ'], subscribe: ['_INBOX.>'] };

function reading(stream: string): readonly string[] {
  const consumers = ['CREATE', 'DURABLE.CREATE', 'INFO', 'DELETE', 'MSG.NEXT'];
  return [
    `${API}.STREAM.INFO.${stream}`,
    `${API}.STREAM.MSG.GET.${stream}`,
    `${API}.CONSUMER.CREATE.${stream}`,
    ...consumers.map((what) => `${API}.CONSUMER.${what}.${stream}.>`),
    `$JS.ACK.${stream}.>`,
    `$JS.FC.${stream}.>`,
  ];
}

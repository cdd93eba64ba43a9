import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Kvm } from '@nats-io/kv';
import { headers, type NatsConnection, nkeyAuthenticator, PermissionViolationError } from '@nats-io/nats-core';
import { createUser } from '@nats-io/nkeys';
import { connect } from '@nats-io/transport-node';
import { managerOf } from '../../src/features/fleet/protocol/connect-once.ts';
import { readEventHeaders } from '../../src/features/fleet/protocol/event-message.ts';
import { FLEET_READS } from '../../src/features/fleet/protocol/fleet-reads-schema.ts';
import { BUCKETS, hubName, inboxPrefix, JOINER } from '../../src/features/fleet/protocol/layout.ts';
import { createFleet, createMac } from '../../src/features/fleet/protocol/streams.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { MEMBER_FILES } from '../../src/features/fleet/setup/member-files.ts';
import { connectOperator } from '../../src/features/fleet/setup/operator-connection.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FleetServer, newFleet } from '../support/fleet-server.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MACS = ['m7', 'm8', 'm70', 'hub'];
const STREAMS = ['EV', 'SEND', ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)];
const HUB_INBOX = inboxPrefix(hubName('h1'));

/** Every subject with a meaning in a fleet, and the JetStream calls for every stream and consumer. */
const SUBJECTS = [
  ...MACS.flatMap((mac) => [
    `ev.${mac}`,
    `send.${mac}`,
    `done.${mac}.key`,
    `join.${mac}`,
    `$KV.macs.machine_${mac}`,
    ...[...Object.keys(FLEET_READS), 'who'].map((operation) => `rd.${mac}.${operation}`),
    `${inboxPrefix(mac)}.x`,
    ...Object.values(BUCKETS).flatMap((bucket) => [`$KV.${bucket}.${mac}`, `$KV.${bucket}.${mac}.key`]),
  ]),
  ...[
    '_INBOX.x',
    `${HUB_INBOX}.x`,
    'wh.3',
    '$KV.macs.pair_m7',
    'anything',
    '$SYS.REQ.SERVER.PING',
    '$SYS.REQ.ACCOUNT.PING.CONNZ',
  ],
  ...['INFO', 'STREAM.NAMES', 'STREAM.LIST', 'STREAM.RESTORE.EV'].map((call) => `$JS.API.${call}`),
  ...STREAMS.flatMap((stream) => [
    ...['INFO', 'CREATE', 'UPDATE', 'DELETE', 'PURGE', 'MSG.GET', 'MSG.DELETE', 'SNAPSHOT', 'LEADER.STEPDOWN'].map(
      (call) => `$JS.API.STREAM.${call}.${stream}`,
    ),
    `$JS.API.DIRECT.GET.${stream}`,
    ...['NAMES', 'LIST', 'CREATE'].map((call) => `$JS.API.CONSUMER.${call}.${stream}`),
    ...MACS.flatMap((mac) => [
      ...['INFO', 'DELETE', 'MSG.NEXT', 'CREATE', 'DURABLE.CREATE'].map(
        (call) => `$JS.API.CONSUMER.${call}.${stream}.agent-${mac}`,
      ),
      `$JS.API.CONSUMER.CREATE.${stream}.agent-${mac}.send.${mac}`,
      `$JS.API.DIRECT.GET.${stream}.ev.${mac}`,
      `$JS.API.DIRECT.GET.${stream}.send.${mac}`,
      `$JS.API.DIRECT.GET.${stream}.$KV.macs.${mac}`,
      `$JS.API.DIRECT.GET.${stream}.$KV.macs.machine_${mac}`,
      `$JS.ACK.${stream}.agent-${mac}.1.1.1.1.0`,
    ]),
  ]),
];

const WILDCARDS = [
  '>',
  '*',
  'ev.>',
  'ev.*',
  'send.>',
  'rd.>',
  'done.>',
  'rd.*.message',
  '_INBOX.>',
  '_INBOX_HUB.>',
  '*.m7',
  '*.m8',
  '$KV.>',
  '$KV.macs.*',
  '$KV.webhooks.*',
  '$JS.>',
  '$SYS.>',
  'wh.*',
  'join.*',
  '_INBOX_JOIN.x',
];

/** The rights that an agent needs, written down independently of the code. */
const OF_M7 = {
  publish: [
    'ev.m7',
    '$KV.macs.m7',
    '$KV.macs.machine_m7',
    '$JS.API.DIRECT.GET.KV_macs.$KV.macs.m7',
    '$JS.API.DIRECT.GET.KV_macs.$KV.macs.machine_m7',
    '$KV.outcomes.m7.key',
    'done.m7.key',
    '$JS.API.STREAM.INFO.EV',
    '$JS.API.DIRECT.GET.EV.ev.m7',
    '$JS.API.CONSUMER.INFO.SEND.agent-m7',
    '$JS.API.CONSUMER.MSG.NEXT.SEND.agent-m7',
    '$JS.ACK.SEND.agent-m7.1.1.1.1.0',
    'rd.m7.who',
  ],
  subscribe: [...[...Object.keys(FLEET_READS), 'who'].map((operation) => `rd.m7.${operation}`), '_INBOX_m7.x'],
};

describeWithNats('the rights that postern fleet gives', () => {
  const path = join(temporaryFolder(), 'fleet');
  let folder: FleetFolder;
  let server: FleetServer;
  let operator: NatsConnection;
  const open: NatsConnection[] = [];

  beforeAll(async () => {
    await newFleet(path, MACS);
    server = await FleetServer.start(path);
    folder = FleetFolder.open(path);
    operator = await connectOperator(folder, 'operator');
    const jsm = await managerOf(operator);
    await createFleet(jsm);
    for (const mac of MACS) await createMac(jsm, mac);
  });

  afterAll(async () => {
    for (const connection of [...open, operator]) await connection.close();
    await server.stop();
  });

  const as = async (member: 'hub' | { readonly mac: string }): Promise<NatsConnection> => {
    const seed = readFileSync(join(folder.memberFolder(member), MEMBER_FILES.key), 'utf8').trim();
    return withSeed(new TextEncoder().encode(seed), member === 'hub' ? hubName('h1') : member.mac);
  };

  const withSeed = async (seed: Uint8Array, name: string): Promise<NatsConnection> => {
    const connection = await connect({
      servers: server.url,
      authenticator: nkeyAuthenticator(seed),
      inboxPrefix: inboxPrefix(name),
      reconnect: false,
    });
    open.push(connection);
    return connection;
  };

  test('another key, no key and a user name are refused', async () => {
    await expect(withSeed(createUser().getSeed(), 'm7')).rejects.toThrow('Authorization Violation');
    await expect(connect({ servers: server.url, reconnect: false })).rejects.toThrow('Authorization Violation');
    await expect(connect({ servers: server.url, user: 'm7', pass: '', reconnect: false })).rejects.toThrow(
      'Authorization Violation',
    );
  });

  test('an agent publishes to its own subjects and to no others', async () => {
    expect(await allowedToPublish(await as({ mac: 'm7' }), SUBJECTS)).toEqual([...OF_M7.publish].sort());
  });

  test('an agent subscribes to its own subjects and to no others', async () => {
    const agent = await as({ mac: 'm7' });
    const allowed = await allowedToSubscribe(agent, [...SUBJECTS, ...WILDCARDS]);
    expect(allowed).toEqual([...OF_M7.subscribe].sort());
  });

  test('a machine with a token may ask to join, and nothing else', async () => {
    const { seed } = folder.invitation('m9');
    const joiner = await withSeed(new TextEncoder().encode(seed), JOINER);
    expect(await allowedToPublish(joiner, SUBJECTS)).toEqual(MACS.map((mac) => `join.${mac}`).sort());
    expect(await allowedToSubscribe(joiner, [...SUBJECTS, ...WILDCARDS])).toEqual(['_INBOX_JOIN.x']);
  });

  test('a hub can neither create nor delete streams, nor act as an agent', async () => {
    const allowed = await allowedToPublish(await as('hub'), SUBJECTS);
    const forbidden =
      /^ev\.|^\$KV\.(?:macs|outcomes)\.|STREAM\.(?:CREATE|UPDATE|DELETE|PURGE|MSG\.DELETE|RESTORE|SNAPSHOT)|^\$SYS|^_INBOX|CONSUMER\.(?:CREATE|DELETE|DURABLE\.CREATE|MSG\.NEXT)\.SEND/;
    expect(allowed.filter((subject) => forbidden.test(subject))).toEqual([]);
    expect(allowed).toEqual(
      expect.arrayContaining(['send.m7', 'rd.m8.message', 'wh.3', '$KV.webhooks.m7', '$JS.API.STREAM.MSG.GET.EV']),
    );
    expect(await allowedToSubscribe(await as('hub'), [...SUBJECTS, ...WILDCARDS])).toEqual(
      [
        `${HUB_INBOX}.x`,
        '_INBOX_HUB.>',
        'wh.*',
        'wh.3',
        'done.>',
        '$KV.macs.*',
        '$KV.macs.pair_m7',
        ...MACS.flatMap((mac) => [`done.${mac}.key`, `$KV.macs.${mac}`, `$KV.macs.machine_${mac}`]),
      ].sort(),
    );
  });

  test('writing to its own key, an agent cannot empty a bucket', async () => {
    const macs = await new Kvm(operator).open('macs');
    await macs.put('m8', 'here');
    const agent = await as({ mac: 'm7' });
    const all = headers();
    all.set('Nats-Rollup', 'all');
    const reply = await agent.request('$KV.macs.m7', 'mine', { headers: all, timeout: 5000 });
    expect(reply.json()).toMatchObject({ error: { description: expect.stringContaining('rollup') } });
    expect((await macs.get('m8'))?.string()).toBe('here');
  });

  test('an acknowledgement that an agent directs to the subject of another Mac is not an event', async () => {
    const agent = await as({ mac: 'm7' });
    agent.publish('ev.m7', 'forged', { reply: 'ev.m8' });
    const jsm = await managerOf(operator);
    // The server's acknowledgement, at the subject that the agent chose.
    const written = await waitFor(() =>
      jsm.streams.getMessage('EV', { last_by_subj: 'ev.m8' }).then((found) => found ?? undefined),
    );
    expect(written.string()).toContain('"stream":"EV"');
    expect(readEventHeaders(written.subject, written.header)).toBeUndefined();
  });

  test('an agent can answer only questions that it received', async () => {
    const [agent, hub] = [await as({ mac: 'm7' }), await as('hub')];
    const answers = agent.subscribe('rd.m7.message', { max: 1 });
    await agent.flush();
    const answer = hub.request('rd.m7.message', 'which?');
    for await (const question of answers) question.respond('this one');
    expect((await answer).string()).toBe('this one');
    expect(await allowedToPublish(agent, [`${HUB_INBOX}.another`])).toEqual([]);
  });

  test('a revoked key is refused after the next reload, and its connection ends', async () => {
    const agent = await as({ mac: 'm8' });
    const seed = readFileSync(join(folder.memberFolder({ mac: 'm8' }), MEMBER_FILES.key), 'utf8').trim();
    folder.removeMac('m8');
    server.reload();
    await agent.closed();
    await expect(withSeed(new TextEncoder().encode(seed), 'm8')).rejects.toThrow('Authorization Violation');
    const other = await as({ mac: 'm7' });
    expect(await allowedToPublish(other, ['ev.m7', 'ev.m8'])).toEqual(['ev.m7']);
  });

  test('a Mac that was adopted has another key, and the old one is refused', async () => {
    const old = readFileSync(join(folder.memberFolder({ mac: 'm70' }), MEMBER_FILES.key), 'utf8').trim();
    folder.addMac('m70', '2026-01-02T00:00:00Z');
    server.reload();
    await eventually(async () => {
      await expect(withSeed(new TextEncoder().encode(old), 'm70')).rejects.toThrow('Authorization Violation');
    });
    expect(await allowedToPublish(await as({ mac: 'm70' }), ['ev.m70', 'ev.m7'])).toEqual(['ev.m70']);
  });
});

/** Returns the subjects that the server permits, sorted. */
async function allowedToPublish(connection: NatsConnection, subjects: readonly string[]): Promise<readonly string[]> {
  return withoutRefused(connection, subjects, 'publish', (subject) => connection.publish(subject));
}

async function allowedToSubscribe(connection: NatsConnection, subjects: readonly string[]): Promise<readonly string[]> {
  return withoutRefused(connection, subjects, 'subscription', (subject) =>
    connection.subscribe(subject, { callback: () => {} }),
  );
}

async function withoutRefused(
  connection: NatsConnection,
  subjects: readonly string[],
  operation: 'publish' | 'subscription',
  attempt: (subject: string) => unknown,
): Promise<readonly string[]> {
  const refused = new Set<string>();
  const events = connection.status();
  const reading = (async () => {
    for await (const event of events) {
      if (event.type !== 'error' || !(event.error instanceof PermissionViolationError)) continue;
      if (event.error.operation === operation) refused.add(event.error.subject);
    }
  })();
  for (const subject of subjects) attempt(subject);
  // The answer arrives after every refusal.
  await connection.flush();
  (events as unknown as { stop: () => void }).stop();
  await reading;
  return subjects.filter((subject) => !refused.has(subject)).sort();
}

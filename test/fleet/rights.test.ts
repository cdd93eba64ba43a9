import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { type NatsConnection, nkeyAuthenticator, PermissionViolationError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { type Membership, parseMembership } from '../../src/features/fleet/protocol/membership.ts';
import { BUCKETS, EVENTS, hubName, inboxPrefix, STREAMS } from '../../src/features/fleet/protocol/subjects.ts';
import { managerOf } from '../../src/features/fleet/setup/connections.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';

const MACS = ['m7', 'm8', 'm70', 'hub'];

/** Every subject with a meaning in a fleet, and the calls of JetStream for every stream and consumer. */
const SUBJECTS = [
  ...MACS.flatMap((mac) => [
    ...[
      `ev.${mac}`,
      `ev.${mac}.a`,
      `an.${mac}.a`,
      `an.${mac}.here.one`,
      `rq.${mac}.any`,
      `rq.${mac}.at.one`,
      `rq.${mac}.to.a`,
    ],
    ...[`${inboxPrefix(mac)}.one.x`, `$KV.webhooks.${mac}`, `$KV.claims.${mac}`, `wd.${mac}`],
  ]),
  ...['_INBOX.x', `${inboxPrefix(hubName('h1'))}.x`, 'rq.all.who', 'anything', '$SYS.REQ.SERVER.PING'],
  ...['INFO', 'STREAM.NAMES', 'STREAM.LIST', 'STREAM.RESTORE.EV'].map((call) => `$JS.API.${call}`),
  ...STREAMS.flatMap((stream) => [
    ...['INFO', 'CREATE', 'UPDATE', 'DELETE', 'PURGE', 'MSG.GET', 'MSG.DELETE', 'SNAPSHOT', 'LEADER.STEPDOWN'].map(
      (call) => `$JS.API.STREAM.${call}.${stream}`,
    ),
    `$JS.API.DIRECT.GET.${stream}`,
    ...MACS.map((mac) => `$JS.API.DIRECT.GET.${stream}.ev.${mac}.a`),
    ...['NAMES', 'LIST', 'CREATE'].map((call) => `$JS.API.CONSUMER.${call}.${stream}`),
    ...['INFO', 'DELETE', 'MSG.NEXT', 'CREATE', 'DURABLE.CREATE'].map(
      (call) => `$JS.API.CONSUMER.${call}.${stream}.wh_1_1`,
    ),
    `$JS.ACK.${stream}.wh_1_1.1.1.1.1.0`,
  ]),
];

/** What a Mac needs, written down independently of the code. */
const MAC_PUBLISHES = ['ev.m7.a', 'an.m7.a', 'an.m7.here.one', '$JS.API.STREAM.INFO.EV'];
const MAC_READS = ['an.m7.here.one', 'rq.m7.any', 'rq.m7.at.one', 'rq.m7.to.a', 'rq.all.who', '_INBOX_m7.one.x'];
const HUB_MAY_NOT =
  /^(?:ev\.|an\.|anything|_INBOX|\$SYS|\$JS\.API\.STREAM\.(?!INFO\.|MSG\.GET\.)|\$JS\.API\.DIRECT|\$JS\.API\.CONSUMER\.(?:NAMES|LIST))/;

describeWithNats('the rights at the broker', () => {
  let fleet: TestFleet;
  const open: NatsConnection[] = [];

  beforeAll(async () => {
    fleet = await TestFleet.start(MACS);
  });

  afterAll(async () => {
    for (const connection of open) await connection.close();
    await fleet.close();
  });

  async function as({ servers, seed }: Membership, name: string): Promise<NatsConnection> {
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed));
    const connection = await connect({ servers: [...servers], authenticator, inboxPrefix: inboxPrefix(name) });
    open.push(connection);
    return connection;
  }

  const mac = (): Promise<NatsConnection> => as(parseMembership(fleet.folder.addMac('m7')), 'm7.one');

  /** Returns those of the subjects that the broker does not refuse. */
  async function allowed(connection: NatsConnection, what: 'publish' | 'subscription'): Promise<readonly string[]> {
    const refused = new Set<string>();
    void (async () => {
      for await (const status of connection.status()) {
        if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
        refused.add(status.error.subject);
      }
    })();
    for (const subject of SUBJECTS) {
      if (what === 'publish') connection.publish(subject, '{}');
      else connection.subscribe(subject, { callback: () => {} });
    }
    connection.publish('not.allowed.at.all', '');
    await waitFor(() => refused.has('not.allowed.at.all'));
    return SUBJECTS.filter((subject) => !refused.has(subject));
  }

  test('a Mac writes its own events and answers, and looks for its own events', async () => {
    expect(await allowed(await mac(), 'publish')).toEqual(expect.arrayContaining(MAC_PUBLISHES));
    expect(await allowed(await mac(), 'publish')).toHaveLength(MAC_PUBLISHES.length);
  });

  test('a Mac hears its own requests and inbox, and machines with its name', async () => {
    expect(await allowed(await mac(), 'subscription')).toEqual(MAC_READS.toSorted(bySubjects));
  });

  test('a hub asks and reads, but writes no events, and changes no stream', async () => {
    const publishes = await allowed(await as(fleet.folder.hub, hubName('h1')), 'publish');
    expect(publishes.filter((subject) => HUB_MAY_NOT.test(subject))).toEqual([]);
    expect(publishes).toEqual(SUBJECTS.filter((subject) => !HUB_MAY_NOT.test(subject)));
  });

  test('a hub hears only answers and its inbox', async () => {
    const heard = await allowed(await as(fleet.folder.hub, hubName('h1')), 'subscription');
    expect(heard).toEqual(SUBJECTS.filter((subject) => /^(?:an\.|_INBOX_HUB\.)/.test(subject)));
  });

  test('with these rights a hub reads the stream, follows a bucket, and claims a key once', async () => {
    const operator = await fleet.operator();
    const { seq: opt_start_seq } = await jetstream(operator).publish('ev.m7.z', 'x');
    const connection = await as(fleet.folder.hub, hubName('h2'));
    const js = jetstream(connection);
    const consumer = await js.consumers.get(EVENTS, { opt_start_seq });
    for await (const message of await consumer.fetch({ max_messages: 1, expires: 1000 })) {
      expect(message.string()).toBe('x');
    }
    const jsm = await managerOf(connection);
    await jsm.consumers.add(EVENTS, { durable_name: 'wh_1_1', ack_policy: 'explicit' });
    const durable = await js.consumers.get(EVENTS, 'wh_1_1');
    expect(await (await durable.next({ expires: 1000 }))?.ackAck()).toBe(true);
    const claims = await new Kvm(js).open('claims');
    await claims.create('key', 'one');
    await expect(claims.create('key', 'two')).rejects.toThrow();
    for await (const { key } of await claims.watch()) {
      if (key === 'key') break;
    }
  });

  test('what the broker answers to a Mac removes nothing, wherever the Mac lets it be sent', async () => {
    const operator = await fleet.operator();
    const js = jetstream(operator);
    for (const bucket of BUCKETS) await (await new Kvm(js).open(bucket)).put('kept', 'value');
    for (const subject of ['ev.m8.kept', 'wd.kept']) await js.publish(subject, 'kept');
    const jsm = await managerOf(operator);
    const counts = () =>
      Promise.all(
        STREAMS.filter((name) => name !== EVENTS).map(async (name) => (await jsm.streams.info(name)).state.messages),
      );
    const before = await counts();
    const connection = await mac();
    for (const [at, name] of STREAMS.entries()) {
      for (const call of ['PURGE', 'DELETE', 'MSG.DELETE']) {
        connection.publish(`ev.m7.${call}.${at}`, 'x', { reply: `$JS.API.STREAM.${call}.${name}` });
        connection.publish('$JS.API.STREAM.INFO.EV', '', { reply: `$JS.API.STREAM.${call}.${name}` });
      }
    }
    // The broker has answered all of them once it answers the last.
    await jetstream(connection).publish('ev.m7.last', 'x');
    expect(await counts()).toEqual(before);
    const { state } = await jsm.streams.info(EVENTS, { subjects_filter: 'ev.m8.kept' });
    expect(state.subjects).toEqual({ 'ev.m8.kept': 1 });
  });

  test('a revoked Mac is refused once the servers have reloaded', async () => {
    const line = parseMembership(fleet.folder.addMac('m70'));
    await (await as(line, 'm70.one')).flush();
    fleet.folder.removeMac('m70');
    fleet.server.reload();
    await waitFor(() =>
      as(line, 'm70.one').then(
        () => false,
        (error: Error) => /authorization/i.test(error.message),
      ),
    );
  });
});

function bySubjects(one: string, other: string): number {
  return SUBJECTS.indexOf(one) - SUBJECTS.indexOf(other);
}

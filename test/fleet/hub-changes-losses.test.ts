import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { CHAIN_START, changesEpoch } from '../../src/features/fleet/protocol/event-message.ts';
import { HEADERS } from '../../src/features/fleet/protocol/layout.ts';
import { eventually } from '../support/eventually.ts';
import { FleetMac } from '../support/fleet-mac.ts';
import { ChangesReader, edit, hasChangesOf, markRead } from '../support/hub-changes.ts';
import { allIdsAfter, eventsOf, idsOf, listenTo, rowsOf } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { eventOfRow, StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const EXPIRED = [410, 'offset_expired'];
/** Losses of changes that one Mac can cause in an hour, and those within five seconds of the first as one more. */
const MOST_RESYNCS = 5;

describeWithNats('a client that asks a hub for changes receives every change, or learns of the loss', () => {
  let server: NatsServer;
  let hub: HubFixture;
  let mac: FleetMac;
  let reader: ChangesReader;
  let receiver: Receiver;
  let row = 0;
  let tests = 0;
  const stateDb = (): string => join(mac.folder, 'config/state.db');

  beforeEach(async () => {
    tests += 1;
    server = await NatsServer.forFleet(['m1', 'm2']);
    mac = new FleetMac(join(folder, String(tests)), { servers: [server.url], mac: 'm1', changes: true });
    await mac.start();
    hub = await HubFixture.start([server.url]);
    await hasChangesOf(hub, ['m1']);
    row = mac.write('text');
    await mac.published(row);
    reader = new ChangesReader();
    await eventually(async () => expect(idsOf(await eventsOf(hub))).toEqual([`m1~${row}`]));
    await reader.read(hub);
    receiver = await Receiver.start();
  });
  afterEach(async () => {
    await receiver.close();
    await hub.dispose();
    await mac.dispose();
    await server.dispose();
  });

  /** Waits until the stream has all rows and changes of the Mac. */
  const published = (): Promise<unknown> => mac.published(mac.write('then'));
  const logged = (count: number): Promise<void> =>
    eventually(async () => expect(await mac.get('/status')).toMatchObject({ changes: { logged: count } }));
  /** Waits until the reader has got this. */
  const gets = (what: string): Promise<void> =>
    eventually(async () => {
      expect(await reader.read(hub)).toEqual([200, undefined]);
      expect(reader.got.map(([, , changes]) => changes)).toContain(what);
    });
  const isExpired = (at = hub): Promise<void> =>
    eventually(async () => {
      // Only the next event reveals that something is missing.
      mac.write('next');
      expect(await new ChangesReader(reader.after).read(at)).toEqual(EXPIRED);
    });

  test('when the stream dropped some while the hub was away: the Mac supplies them', async () => {
    await hub.close();
    edit(mac, row, 'edited');
    await logged(1);
    markRead(mac, row);
    await logged(2);
    await published();
    await server.purgeEvents();
    await hub.start();
    await gets('read');
    const changes = reader.got.filter(([type]) => type === 'message.updated');
    expect(changes.map(([, , what]) => what)).toEqual(['edited', 'read']);
  });

  test('when the Mac no longer has them either: 410 for readers of changes, and no effect on others', async () => {
    const { offset } = (await eventsOf(hub)).at(-1) ?? {};
    const [plain, asking] = [await listenTo(hub), await listenTo(hub, `&changes=true&after=${reader.after}`)];
    for (const events of [['message.updated'], ['message.received']] as const) {
      await hub.client.addWebhook({ url: receiver.url, events });
    }
    await hub.close();
    edit(mac, row, 'edited');
    await logged(1);
    await published();
    await mac.stop();
    await server.purgeEvents();
    const state = openSqlite(stateDb());
    state.exec('DELETE FROM change');
    state.close();
    await hub.start();
    await mac.start();
    const next = mac.write('next');
    await eventually(async () => expect((await allIdsAfter(hub, offset)).at(-1)).toBe(`m1~${next}`));
    await isExpired();
    expect([plain.closed, asking.closed]).not.toContain(4410);
    const late = await listenTo(hub, `&changes=true&after=0`);
    await eventually(() => Promise.resolve(expect(late.ids).toContain(`m1~${next}`)));
    expect((await hub.get(`/events?after=${offset}`)).status).toBe(200);
    const outcomes = async (event: string): Promise<readonly string[]> => {
      const webhook = (await hub.client.webhooks()).find(({ events }) => events.includes(event as never));
      return (await hub.client.deliveries(webhook?.id ?? '')).map(({ outcome }) => outcome);
    };
    await eventually(async () => expect(await outcomes('message.updated')).toEqual(['gone']));
    await eventually(async () => expect((await outcomes('message.received')).length).toBeGreaterThan(1));
    expect(await outcomes('message.received')).not.toContain('gone');
  });

  test('when the broker lost everything: this hub misses nothing, and a new hub answers 410', async () => {
    await server.stop();
    edit(mac, row, 'edited while it was away');
    await eventually(async () => expect(await mac.get('/events?changes=true&after=0')).toHaveLength(1));
    await server.deleteStore();
    await server.launch();
    await server.createFleet(['m1', 'm2']);
    await gets('edited');
    markRead(mac, row);
    await gets('read');
    expect(reader.got.map(([type, id, what]) => [type, id, what])).toEqual([
      ['message.updated', `m1~${row}`, 'edited'],
      ['message.updated', `m1~${row}`, 'read'],
    ]);
    const first = reader.offsets[0];
    const other = await HubFixture.start([server.url]);
    await hasChangesOf(other, ['m1']);
    reader.after = first;
    await isExpired(other);
    await other.dispose();
  });

  test('when a hub loses its copy: it reads the changes from the stream again', async () => {
    edit(mac, row, 'edited');
    await gets('edited');
    await published();
    const other = await HubFixture.start([server.url]);
    await hasChangesOf(other, ['m1']);
    const again = new ChangesReader(reader.offsets[0]);
    await eventually(async () => {
      expect(await again.read(other)).toEqual([200, undefined]);
      expect(again.got.at(-1)?.[2]).toBe('then');
    });
    await other.dispose();
  });

  test('when chat.db is replaced, or a restored state.db reuses numbers', async () => {
    await mac.stop();
    for (const name of readdirSync(join(mac.folder, 'config'))) {
      if (name.startsWith('state.db')) copyFileSync(join(mac.folder, 'config', name), join(folder, name));
    }
    await mac.start();
    edit(mac, row, 'edited');
    await gets('edited');
    await mac.stop();
    copyFileSync(join(folder, 'state.db'), stateDb());
    markRead(mac, row);
    await mac.start();
    await published();
    await isExpired();
    reader = new ChangesReader();
    await reader.read(hub);
    await mac.stop();
    mac.createDatabase();
    await mac.start();
    const first = mac.write('in another database');
    await eventually(async () => expect((await allIdsAfter(hub)).at(-1)).toBe(`m1~${first}`));
    await isExpired();
  });

  test('when a Mac restarts its chain repeatedly, or names messages of another: others need few resyncs', async () => {
    const evil = await StandInAgent.connect(server.url, 'm2');
    let sent = 0;
    const publish = (type: string, row: number, log: number, data: object): Promise<void> => {
      sent += 1;
      return evil.publishRaw(JSON.stringify({ type: type === CHAIN_START ? 'messages.changed' : type, data }), {
        ...{ [HEADERS.version]: '1', [HEADERS.instance]: 'i', [HEADERS.previousRow]: '1', [HEADERS.row]: String(row) },
        ...{ [HEADERS.epoch]: changesEpoch(log, 'e'), [HEADERS.type]: type, [HEADERS.messageId]: `evil-${sent}` },
      });
    };
    const begin = (log: number) => publish(CHAIN_START, 1, log, { first_id: '', last_id: '', count: 0 });
    await begin(1);
    await isExpired();
    reader = new ChangesReader();
    await reader.read(hub);
    await publish('message.removed', 2, 1, { id: `m1~${row}`, guid: 'G', conversation_id: '' });
    await reader.gets(hub, ['message.removed', `m2~m1~${row}`, '']);
    const { offset } = (await eventsOf(hub)).at(-1) ?? {};
    const plain = await listenTo(hub);
    for (let log = 2; log < 50; log += 1) await begin(log);
    // A message that is not a row, a change in place of a row, and changes that no Mac has.
    await publish('message.received', 3, 1, eventOfRow(3).data);
    await evil.publish(1, 3);
    await evil.announce('i', [], { epoch: changesEpoch(99, 'e'), row: 1_000_000, sequence: evil.sequence });
    const next = mac.write('next');
    await eventually(() => Promise.resolve(expect(plain.ids).toEqual([...rowsOf('m2', 1, 3), `m1~${next}`])));
    expect((await hub.get(`/events?after=${offset}`)).status).toBe(200);
    // How many losses the hub tells the reader about depends on how fast the messages arrive.
    let resyncs = 0;
    edit(mac, row, 'edited');
    await eventually(async () => {
      const [status] = await reader.read(hub);
      if (status === 410) {
        resyncs += 1;
        reader = new ChangesReader((await eventsOf(hub)).at(-1)?.offset);
        edit(mac, row, `edited again, ${resyncs}`);
      }
      expect(reader.got.map(([, , changes]) => changes)).toContain('edited');
    });
    expect(resyncs).toBeLessThanOrEqual(MOST_RESYNCS);
    expect((await hub.client.message(`m1~${row}`)).body).toMatch(/^edited/);
    expect(plain.closed).toBeUndefined();
    await evil.close();
  });
});

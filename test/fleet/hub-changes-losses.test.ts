import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { changesEpoch } from '../../src/fleet/protocol/event-message.ts';
import { HEADERS } from '../../src/fleet/protocol/layout.ts';
import { openSqlite } from '../../src/runtime/sqlite.ts';
import { eventually } from '../support/eventually.ts';
import { FleetMac } from '../support/fleet-mac.ts';
import { ChangesReader, edit, hasChangesOf, markRead } from '../support/hub-changes.ts';
import { allIdsAfter, eventsOf, idsOf, listenTo } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const EXPIRED = [410, 'offset_expired'];

describeWithNats('who asks a hub for changes receives every change, or is told', () => {
  let server: NatsServer;
  let hub: HubFixture;
  let mac: FleetMac;
  let reader: ChangesReader;
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
  });
  afterEach(async () => {
    await hub.dispose();
    await mac.dispose();
    await server.dispose();
  });

  /** Waits until the stream has everything of the Mac. */
  const published = (): Promise<unknown> => mac.published(mac.write('then'));
  /** Waits until the reader has got this. */
  const gets = (what: string): Promise<void> =>
    eventually(async () => {
      expect(await reader.read(hub)).toEqual([200, undefined]);
      expect(reader.got.map(([, , changes]) => changes)).toContain(what);
    });
  const isExpired = (at = hub): Promise<void> =>
    eventually(async () => {
      // The next event shows that something is missing.
      mac.write('next');
      expect(await new ChangesReader(reader.after).read(at)).toEqual(EXPIRED);
    }, 20_000);

  test('when the stream dropped some while the hub was away: the Mac supplies them', async () => {
    await hub.close();
    edit(mac, row, 'edited');
    await published();
    markRead(mac, row);
    await published();
    await server.purgeEvents();
    await hub.start();
    await gets('read');
    const changes = reader.got.filter(([type]) => type === 'message.updated');
    expect(changes.map(([, , what]) => what)).toEqual(['edited', 'read']);
  });

  test('when the Mac no longer has them either: 410 for who asks for changes, and nothing for the others', async () => {
    const { offset } = (await eventsOf(hub)).at(-1) ?? {};
    const [plain, asking] = [await listenTo(hub), await listenTo(hub, `&changes=true&after=${reader.after}`)];
    await hub.close();
    edit(mac, row, 'edited');
    await eventually(async () => expect(await mac.get('/status')).toMatchObject({ changes: { logged: 1 } }));
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
  });

  test('when the broker lost everything: nothing is missing at this hub, and a new hub says what it does not know', async () => {
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

  test('when a hub loses its copy, it has the changes of the stream again', async () => {
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

  test('when chat.db is replaced, or an old state.db comes back, which uses numbers again', async () => {
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

  test('a Mac that begins again and again, or speaks of the messages of another, costs the others a few resyncs', async () => {
    const evil = await StandInAgent.connect(server.url, 'm2');
    const start = { [HEADERS.version]: '1', [HEADERS.instance]: 'i', [HEADERS.previousRow]: '0' };
    const begin = '{"type":"messages.changed","data":{"first_id":"","last_id":"","count":0}}';
    const publish = (number: number): Promise<void> =>
      evil.publishRaw(begin, {
        ...{ ...start, [HEADERS.row]: '1', [HEADERS.epoch]: changesEpoch(number, 'e') },
        ...{ [HEADERS.type]: 'changes.started', [HEADERS.messageId]: `start-${number}` },
      });
    await publish(1);
    await eventually(async () =>
      expect(hub.log.lines.map(({ message }) => message)).toContain('earlier changes of a Mac are not known'),
    );
    await isExpired();
    reader = new ChangesReader();
    await reader.read(hub);
    for (let number = 2; number < 50; number += 1) await publish(number);
    const foreign = { type: 'message.removed', data: { id: `m1~${row}`, guid: 'G', conversation_id: '' } };
    await evil.publishRaw(JSON.stringify(foreign), {
      ...{ ...start, [HEADERS.row]: '2', [HEADERS.previousRow]: '1', [HEADERS.epoch]: changesEpoch(1, 'e') },
      ...{ [HEADERS.type]: 'message.removed', [HEADERS.messageId]: 'foreign' },
    });
    edit(mac, row, 'edited');
    await gets('edited');
    expect(reader.got.filter(([type]) => type === 'message.removed').map(([, id]) => id)).not.toContain(`m1~${row}`);
    await evil.close();
  });
});

import { cpSync, rmSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/model/durations.ts';
import { decodeOffset, encodeStreamOffset, type StreamOffset } from '../../src/core/model/offset.ts';
import { eventually } from '../support/eventually.ts';
import { allIdsAfter, eventsOf, hasEvents, idsOf, listenTo, rowsOf, type ShownEvent } from '../support/hub-clients.ts';
import { Line } from '../support/line.ts';
import { codeAfter, LossyFleet } from '../support/lossy-fleet.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { nextOf } from '../support/next-page.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';

describeWithNats('a client of hubs loses nothing without a notice', () => {
  const fleet = new LossyFleet();

  const offsetOf = (events: readonly ShownEvent[], id: string): string =>
    events.find(({ data }) => data.id === id)?.offset ?? '';
  async function renewStore(): Promise<void> {
    await fleet.server.deleteStore();
    await fleet.server.launch();
    await fleet.server.createFleet(['m1', 'm2']);
  }

  test('at another hub, after the stream was recreated and refilled in another order', async () => {
    const [hub, other] = [await fleet.hubAt(), await fleet.hubAt()];
    for (let row = 1; row <= 20; row += 1) {
      await fleet.m1.publish(row);
      await fleet.m2.publish(row);
    }
    const inTurn = Array.from({ length: 40 }, (_, n) => `${n % 2 === 0 ? 'm1' : 'm2'}~${Math.floor(n / 2) + 1}`);
    await hasEvents(hub, inTurn);
    await other.close();
    rmSync(other.databasePath);
    await renewStore();
    await fleet.m2.publish(1, 20, 0);
    await fleet.m1.publish(1, 21, 0);
    await hasEvents(hub, [...inTurn, 'm1~21']);
    await other.start();
    await hasEvents(other, [...rowsOf('m2', 1, 20), ...rowsOf('m1', 1, 21)]);
    for (const [from, to] of [
      [hub, other],
      [other, hub],
    ] as const) {
      const events = await eventsOf(from);
      for (const [place, { offset }] of events.entries()) {
        const seen = events.slice(0, place + 1).map(({ data }) => data.id);
        const found = new Set([...seen, ...(await allIdsAfter(to, offset))]);
        expect([place, found.size]).toEqual([place, 41]);
      }
      expect(await allIdsAfter(from, events[19]?.offset)).toHaveLength(21);
    }
  });

  test('and reaches the end if it asks two hubs in turn, after the stream was recreated', async () => {
    const hubs = [await fleet.hubAt(), await fleet.hubAt()] as const;
    await fleet.m1.publish(1, 20);
    await fleet.m2.publish(1, 20, 0);
    for (const hub of hubs) await hasEvents(hub, [...rowsOf('m1', 1, 20), ...rowsOf('m2', 1, 20)]);
    await renewStore();
    await fleet.m2.publish(1, 21, 0);
    await fleet.m1.publish(1, 21, 0);
    const all = [...rowsOf('m1', 1, 20), ...rowsOf('m2', 1, 21), 'm1~21'];
    for (const hub of hubs) await hasEvents(hub, all);
    // Each hub may repeat every event of the other one, so both need 18 pages, and one more to see that nothing is left.
    for (const turns of [
      [0, 1],
      [0, 1, 1, 0],
      [0, 0, 0, 1, 1],
    ] as const) {
      for (const isLinked of [true, false]) {
        const found: string[] = [];
        let path = '/events?limit=5&after=0';
        for (let turn = 0; turn < 60; turn += 1) {
          const answer = await hubs[turns[turn % turns.length] ?? 0].get(path);
          const events = (await answer.json()) as ShownEvent[];
          found.push(...idsOf(events));
          const link = nextOf(answer) ?? '';
          path = isLinked ? link : `/events?limit=5&after=${events.at(-1)?.offset}`;
          if (events.length === 0) break;
        }
        expect([turns, [...new Set(found)]]).toEqual([turns, all]);
        expect(found.length).toBeLessThanOrEqual(2 * all.length);
      }
    }
  });

  test('at a hub that is still empty, after the broker and the hub lost everything', async () => {
    const hub = await fleet.hubAt();
    await fleet.m1.publish(1, 3);
    await hasEvents(hub, rowsOf('m1', 1, 3));
    const newest = decodeOffset((await eventsOf(hub)).at(-1)?.offset ?? '') as StreamOffset;
    // Macs republish the history of a day.
    const after = encodeStreamOffset({ ...newest, atMs: newest.atMs - 2 * DAY_MS });
    await hub.close();
    rmSync(hub.databasePath);
    await renewStore();
    await hub.start();
    await eventually(async () => expect(await eventsOf(hub, after)).toEqual([]));
    const [polled, live] = [await hub.get(`/events?after=${after}`), await listenTo(hub, `&after=${after}`)];
    expect(polled.headers.get('link')).toContain(`after=${after}>`);
    await fleet.m1.publish(3, 4, 2);
    await eventually(() => expect(live.closed).toBe(4410));
    expect(live.ids).toEqual([]);
    expect(await codeAfter(hub, after)).toEqual([410, 'offset_expired']);
  });

  test('at another hub, after the broker was restored from an older copy', async () => {
    const [hub, other] = [await fleet.hubAt(), await fleet.hubAt()];
    await fleet.m1.publish(1, 3);
    await hasEvents(other, rowsOf('m1', 1, 3));
    await other.close();
    await fleet.server.stop();
    const copy = `${fleet.server.storeFolder}-copy-${fleet.epoch}`;
    cpSync(fleet.server.storeFolder, copy, { recursive: true });
    await fleet.server.launch();
    await fleet.m1.publish(4, 23);
    await hasEvents(hub, rowsOf('m1', 1, 23));
    const last = (await eventsOf(hub)).at(-1)?.offset ?? '';
    await fleet.m2.publish(1, 20, 0);
    await fleet.server.stop();
    rmSync(fleet.server.storeFolder, { recursive: true });
    cpSync(copy, fleet.server.storeFolder, { recursive: true });
    await fleet.server.launch();
    await fleet.m2.publish(1, 20, 0);
    await fleet.m1.publish(4, 23, 3);
    await other.start();
    await hasEvents(other, [...rowsOf('m1', 1, 3), ...rowsOf('m2', 1, 20), ...rowsOf('m1', 4, 23)]);
    const rest = await allIdsAfter(other, last);
    expect(rest.filter((id) => id.startsWith('m2'))).toEqual(rowsOf('m2', 1, 20));
  });

  test('when the stream dropped more than 2,000 rows while a hub was away', async () => {
    await fleet.m1.supply();
    const hub = await fleet.hubAt();
    await fleet.m1.publish(1, 5);
    await hasEvents(hub, rowsOf('m1', 1, 5));
    const after = (await eventsOf(hub)).at(-1)?.offset;
    await hub.close();
    // As if rows 6 to 3005 had been published and then expired.
    await fleet.m1.publish(3006, 3007, 3005);
    await hub.start();
    await eventually(async () => expect(await allIdsAfter(hub, after)).toEqual(rowsOf('m1', 6, 3007)));
    expect((await hub.client.health()).backend.message).toBeNull();
  });

  test('when it dropped rows of a Mac that is away: later rows wait, health says so, and others continue', async () => {
    const hub = await fleet.hubAt();
    await fleet.m1.publish(1, 5);
    await hasEvents(hub, rowsOf('m1', 1, 5));
    const live = await listenTo(hub);
    await fleet.m1.publish(606, 610, 605);
    await fleet.m2.publish(1, 3);
    await hasEvents(hub, [...rowsOf('m1', 1, 5), ...rowsOf('m2', 1, 3)]);
    await eventually(async () => expect((await hub.client.health()).backend.message).toContain('rows 6 to 605'));
    const metrics = await (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
    expect(metrics).toMatch(/^postern_fleet_missing_total 0$/m);
    // A restart of the hub changes nothing.
    await hub.close();
    await hub.start();
    const again = await listenTo(hub, `&after=${offsetOf(await eventsOf(hub), 'm2~1')}`);
    await fleet.m1.supply();
    await fleet.m1.announce();
    await eventually(() => expect(again.ids).toEqual(['m2~2', 'm2~3', ...rowsOf('m1', 6, 610)]));
    expect(live.ids).toEqual(rowsOf('m2', 1, 3));
    await hasEvents(hub, [...rowsOf('m1', 1, 5), ...rowsOf('m2', 1, 3), ...rowsOf('m1', 6, 610)]);
    expect((await hub.client.status()).macs?.map(({ open_holes: holes }) => holes)).toEqual([0]);
  });

  test('at a hub without the hole of the first one; in the other direction events are repeated', async () => {
    await fleet.m1.publish(1, 2);
    const hub = await fleet.hubAt();
    await hasEvents(hub, rowsOf('m1', 1, 2));
    await hub.close();
    await fleet.m1.publish(3, 4);
    const other = await fleet.hubAt();
    await hasEvents(other, rowsOf('m1', 1, 4));
    await fleet.server.deleteEvents([3]);
    await fleet.m2.publish(1, 3);
    await hub.start();
    await hasEvents(hub, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 3)]);
    await hasEvents(other, [...rowsOf('m1', 1, 4), ...rowsOf('m2', 1, 3)]);
    const here = (await eventsOf(hub)).at(-1)?.offset ?? '';
    expect(await allIdsAfter(hub, here)).toEqual([]);
    expect(await allIdsAfter(other, here)).toEqual(expect.arrayContaining(['m1~3', 'm1~4']));
    const there = (await eventsOf(other)).at(-1)?.offset ?? '';
    // The hub repeats waiting events. Otherwise a Mac could keep a client out for as long as it likes.
    const live = await listenTo(hub, `&after=${there}`);
    await fleet.m2.publish(4);
    await fleet.m1.supply();
    await fleet.m1.announce();
    await eventually(() => expect(live.ids).toEqual(['m2~4', 'm1~3', 'm1~4']));
    expect(await allIdsAfter(hub, here)).toEqual(['m2~4', 'm1~3', 'm1~4']);
  });

  test('when rows are gone for good: the offset is 410, the WebSocket ends, and the webhook records it', async () => {
    const receiver = fleet.closing(await Receiver.start());
    const hub = await fleet.hubAt();
    await eventually(() => hub.client.addWebhook({ url: receiver.url, events: ['message.received'] }));
    await fleet.m1.publish(1, 2);
    await hasEvents(hub, rowsOf('m1', 1, 2));
    const before = (await eventsOf(hub)).at(-1)?.offset ?? '';
    const live = await listenTo(hub);
    const resumed = await listenTo(hub, `&after=${before}`);
    await fleet.m1.supply({ isReplaced: true });
    const waited = hub.get(`/events?after=${before}&wait=20`);
    const waitedFromNow = hub.get('/events?changes=true&wait=20');
    await hub.client.health();
    await fleet.m1.publish(9, 10, 8);
    await hasEvents(hub, rowsOf('m1', 1, 2).concat(rowsOf('m1', 9, 10)));
    expect([(await waited).status, (await waitedFromNow).status]).toEqual([410, 410]);
    await eventually(() => expect([live.closed, resumed.closed]).toEqual([4410, 4410]));
    const refused = await hub.get(`/events?after=${before}`);
    expect(refused.status).toBe(410);
    const { code, latest } = (await refused.json()) as { code: string; latest: string };
    expect([code, await allIdsAfter(hub, latest)]).toEqual(['offset_expired', []]);
    await eventually(async () => {
      const [webhook] = await hub.client.webhooks();
      const records = await hub.client.deliveries(webhook?.id ?? '');
      expect(records.map(({ outcome }) => outcome)).toEqual([
        'delivered',
        'delivered',
        'gone',
        'delivered',
        'delivered',
      ]);
    });
    const metrics = await (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
    expect(metrics).toMatch(/^postern_fleet_missing_total 1$/m);
  });

  test('when the hub cannot read rows of a newer Mac: the offset is 410, and health names the Mac', async () => {
    const hub = await fleet.hubAt();
    fleet.m1.newerRows.add(3).add(4);
    await fleet.m1.supply();
    await fleet.m1.publish(1, 2);
    await hasEvents(hub, rowsOf('m1', 1, 2));
    const before = (await eventsOf(hub)).at(-1)?.offset ?? '';
    const live = await listenTo(hub);
    await fleet.m1.publish(3, 6);
    await hasEvents(hub, [...rowsOf('m1', 1, 2), ...rowsOf('m1', 5, 6)]);
    await eventually(() => expect(live.closed).toBe(4410));
    expect(await codeAfter(hub, before)).toEqual([410, 'offset_expired']);
    expect((await hub.client.health()).backend.message).toContain(
      'm1 sends rows that this hub cannot read: update the hub.',
    );
    const metrics = await (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
    expect(metrics).toMatch(/^postern_fleet_missing_total 2$/m);
  });

  test('and keeps its offset when a hub is behind', async () => {
    const line = fleet.closing(await Line.to(fleet.server.port));
    const [hub, behind] = [await fleet.hubAt(), await fleet.hubAt(line.url)];
    await fleet.m1.publish(1, 2);
    await hasEvents(behind, rowsOf('m1', 1, 2));
    line.stall(true);
    await fleet.m1.publish(3, 40);
    await hasEvents(hub, rowsOf('m1', 1, 40));
    const last = (await eventsOf(hub)).at(-1)?.offset ?? '';
    expect(await codeAfter(behind, last)).toEqual([503, 'hub_behind']);
    await renewStore();
    await fleet.m1.publish(1, 41, 0);
    await hasEvents(hub, rowsOf('m1', 1, 41));
    const newest = (await eventsOf(hub)).at(-1)?.offset ?? '';
    expect(await codeAfter(behind, newest)).toEqual([503, 'hub_behind']);
    line.stall(false);
    await eventually(async () => expect(await allIdsAfter(behind, newest)).toEqual([]));
  });

  test('and a Mac that loses rows repeatedly ends connections once an hour, and then delays only itself', async () => {
    await fleet.m1.supply({ isReplaced: true });
    const hub = await fleet.hubAt();
    let row = 1;
    const lose = () => {
      row += 10;
      return fleet.m1.publish(row, row, row - 1);
    };
    await fleet.m1.publish(1);
    await eventually(async () => {
      await lose();
      expect(JSON.stringify(hub.log.lines)).toContain('other rows of this Mac were given up less than an hour ago');
    });
    const live = await listenTo(hub);
    await lose();
    await fleet.m2.publish(1, 3);
    await eventually(() => expect(live.ids).toEqual(rowsOf('m2', 1, 3)));
    expect(live.closed).toBeUndefined();
    expect((await hub.client.health()).backend.message).toContain('Events of m1 wait');
  });

  test('and one Mac that does not answer delays no other Mac', async () => {
    await fleet.m1.answer('events', undefined);
    await fleet.m1.publish(1);
    await fleet.m1.publish(2500, 2500, 2499);
    await fleet.m1.publish(5000, 5000, 4999);
    await fleet.m2.publish(1, 20);
    // Starts only now, because the hub's quick clock passes while rows are published.
    const hub = await fleet.hubAt();
    await hasEvents(hub, ['m1~1', ...rowsOf('m2', 1, 20)]);
    expect(fleet.m1.asked).toBeLessThan(3);
  });
});

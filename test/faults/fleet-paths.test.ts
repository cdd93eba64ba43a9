import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Fleet, type Hub } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { StandInMachine } from '../support/stand-in-mac-machine.ts';

const DAY_MS = 86_400_000;

describeWithNats('a fleet in which one Mac is not as it should be', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let machine: StandInMachine | undefined;

  beforeEach(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
  });
  afterEach(async () => {
    await machine?.stop();
    machine = undefined;
    await fleet.stop();
    await server.dispose();
  });

  async function knows(hub: Hub, count: number): Promise<void> {
    await waitFor(async () => ((await (await hub.get('/api/v1/macs')).json()) as object[]).length === count);
  }

  test('a Mac that never ends its answers holds up its own path alone', async () => {
    machine = await StandInMachine.start(fleet, 'slow', {
      // Begins an answer and never ends it.
      handle: (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('['),
    });
    const mac = await fleet.mac('m1');
    const hub = await fleet.hub();
    await knows(hub, 2);
    const over = new AbortController();
    const headers = { 'x-api-key': hub.key };
    const waiting = Array.from({ length: 100 }, () =>
      fetch(`${hub.url}/macs/slow/api/v1/messages`, { headers, signal: over.signal }).catch(() => undefined),
    );
    mac.write('hello', 'G-1');
    expect(await hub.texts(1)).toEqual(['hello']);
    for (const path of ['/macs/m1/api/v1/messages', '/api/v1/macs', '/api/v1/conversations', '/api/v1/status']) {
      expect([path, (await hub.get(path)).status]).toEqual([path, 200]);
    }
    over.abort();
    await Promise.all(waiting);
  });

  test('rows of a Mac that was away for longer than the stream keeps are counted at every hub', async () => {
    const mac = await fleet.mac('m1');
    const hub = await fleet.hub();
    mac.write('first', 'G-1');
    await hub.texts(1);
    await mac.stop();
    const database = mac.database;
    for (const guid of ['G-2', 'G-3']) {
      database.message({ chat: 1, handle_id: 1, text: guid, guid, date: appleDate(Date.now() - 8 * DAY_MS) });
    }
    await mac.start();
    mac.write('last', 'G-4');
    expect(await hub.texts(2)).toEqual(['first', 'last']);
    await eventually(async () => {
      expect(await (await hub.get('/api/v1/macs')).json()).toMatchObject([{ machines: [{ rows_without_event: 2 }] }]);
    });
  });

  test('an attachment passes through a hub byte by byte, whole and in parts', async () => {
    const mac = await fleet.mac('m1');
    const hub = await fleet.hub();
    const bytes = randomBytes(3 * 1024 * 1024 + 17);
    const file = join(mac.attachments(), 'file.bin');
    writeFileSync(file, bytes);
    mac.database.attach(mac.write('with a file', 'G-1'), file, { total_bytes: bytes.length });
    await hub.texts(1);
    await knows(hub, 1);
    const path = '/macs/m1/api/v1/messages/gG-1/attachments/0';
    // A busy machine can take more than the two seconds within which a Mac must take a request.
    const answer = await waitFor(async () => {
      const one = await hub.get(path);
      expect([one.status, one.status === 200 ? '' : await one.text()]).toEqual([200, '']);
      return one;
    });
    const whole = Buffer.from(await answer.arrayBuffer());
    expect(digest(whole)).toBe(digest(bytes));
    const part = await hub.get(path, { range: 'bytes=1048570-2097160' });
    expect(part.status).toBe(206);
    expect(digest(Buffer.from(await part.arrayBuffer()))).toBe(digest(bytes.subarray(1_048_570, 2_097_161)));
  });

  test('an edit that both machines of a pair see is one event', async () => {
    const pair = [await fleet.mac('m1', 'one', { changes: true }), await fleet.mac('m1', 'two', { changes: true })];
    const hub = await fleet.hub();
    for (const mac of pair) mac.write('before', 'G-1');
    await hub.texts(1);
    const edited = appleDate(Date.now());
    const edit = 'UPDATE message SET text = ?, date_edited = ? WHERE guid = ?';
    for (const mac of pair) mac.database.sqlite.prepare(edit).run('after', edited, 'G-1');
    for (const mac of pair) mac.write('later', 'G-2');
    const seen = async (): Promise<readonly unknown[]> => {
      const { events } = await hub.events('after=0&changes=true&limit=100');
      return events.map(({ type, data }) => `${type} ${String(data.body)}`).sort();
    };
    const expected = ['message.received before', 'message.received later', 'message.updated after'];
    await eventually(async () => expect(await seen()).toEqual(expected));
    // A second event of the edit would come before the next row of the machine that is later.
    for (const mac of pair) await eventually(() => expect(mac.behind()).resolves.toBe(0));
    expect(await seen()).toEqual(expected);
  });
});

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PosternClient, type TrackedEvent } from '../../src/client/postern-client.ts';
import { encodeOffset } from '../../src/core/model/offset.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { nextOf } from '../support/next-page.ts';
import { postern, startPostern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { type Answer, KEY, type Listener, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
const receivers: Receiver[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.here({ chatDbPath: mac.chatDbPath });
});
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  await service.dispose();
  await mac.dispose();
});

interface Event {
  readonly type: string;
  readonly data: { readonly id: string; readonly body?: string; readonly status?: string };
  readonly changes?: readonly string[];
  readonly offset?: string;
}

const eventsOf = (listener: Listener): Event[] => listener.frames.map((frame) => JSON.parse(frame) as Event);
/** Returns the path of the `Link`, relative to the API. */
const nextIn = (answer: Answer): string => nextOf(answer) ?? '';
const offsetOf = (path: string): string => new URLSearchParams(path.split('?')[1]).get('after') ?? '';

async function receive(text: string): Promise<number> {
  return (await mac.command<{ readonly row: number }>({ do: 'receive', from: '+15550100', text })).row;
}

async function clients(): Promise<number> {
  const answer = await fetch(new URL('/metrics', service.url), { headers: { 'x-api-key': KEY } });
  return Number(/^postern_websocket_clients (\d+)/m.exec(await answer.text())?.[1]);
}

async function receiver(events: readonly string[]): Promise<{ readonly id: string; readonly receiver: Receiver }> {
  const made = await Receiver.start();
  receivers.push(made);
  const answer = await service.post('/webhooks', { url: made.url, events });
  expect(answer.status).toBe(201);
  return { id: (answer.json as { id: string }).id, receiver: made };
}

/** Waits until a listener with changes receives a change of this message. */
const changed = (listener: Listener, row: number, name: string): Promise<Event> =>
  waitFor(() => eventsOf(listener).find(({ data, changes }) => data.id === String(row) && changes?.includes(name)));

describe('a change of an earlier message', () => {
  test('reaches only readers that ask for changes', async () => {
    const plain = await service.socket();
    const tracked = await service.socket('&changes=true');
    const detailed = await service.socket('&changes=true&include=details');
    const rows = await receiver(['message.received', 'message.sent']);
    const all = await receiver(['message.received', 'message.updated', 'message.removed']);
    const row = await receive('Are you there yet?');
    await tracked.event(({ data }) => data.id === String(row));
    await mac.command({ do: 'edit', row, text: 'Are you here yet?' });
    expect(await changed(tracked, row, 'edited')).toMatchObject({
      type: 'message.updated',
      data: { body: 'Are you here yet?' },
    });
    // Details are read when the event is written: those of an event that is written later may show the next change.
    const edited = await changed(detailed, row, 'edited');
    expect(edited.data).toMatchObject({ details: { edited_at: expect.stringMatching(/^20/) } });
    await mac.command({ do: 'read', row });
    expect(await changed(tracked, row, 'read')).toMatchObject({ data: { status: 'read' } });
    await mac.command({ do: 'unsend', row });
    expect(await changed(tracked, row, 'unsent')).toMatchObject({ data: { body: '' } });
    await mac.command({ do: 'delete', row, recoverable: true });
    await changed(tracked, row, 'deleted');
    await mac.command({ do: 'recover', row });
    await changed(tracked, row, 'restored');
    const [{ guid }] = eventsOf(tracked).map(({ data }) => data as unknown as { readonly guid: string }) as [
      { readonly guid: string },
    ];
    await mac.command({ do: 'delete', row });
    const removed = await waitFor(() => eventsOf(tracked).find(({ type }) => type === 'message.removed'));
    expect(removed.data).toEqual({ id: String(row), guid, conversation_id: expect.stringContaining('+15550100') });

    const last = await receive('Bye');
    for (const listener of [plain, tracked, detailed]) await listener.event(({ data }) => data.id === String(last));
    expect(eventsOf(plain).map(({ type, data }) => [type, data.id])).toEqual([
      ['message.received', String(row)],
      ['message.received', String(last)],
    ]);
    // Byte for byte what a client of 0.1 receives.
    for (const frame of plain.frames) expect(Object.keys(JSON.parse(frame) as object)).toEqual(['type', 'data']);
    for (const event of eventsOf(tracked)) expect(Object.keys(event).at(-1)).toBe('offset');
    expect(eventsOf(tracked).map(({ type, changes }) => changes?.join() ?? type)).toEqual([
      'message.received',
      'edited',
      'read',
      'unsent',
      'deleted',
      'restored',
      'message.removed',
      'message.received',
    ]);
    await eventually(() => expect(rows.receiver.deliveries).toHaveLength(2));
    await eventually(() => expect(all.receiver.deliveries).toHaveLength(8));
    expect(all.receiver.deliveries.map(({ body }) => body.toString('utf8'))).toEqual(tracked.frames);
    expect(all.receiver.deliveries.map(({ headers }) => headers['x-webhook-event'])).toEqual(
      eventsOf(tracked).map(({ type }) => type),
    );
    expect(new Set(all.receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(8);
    const status = (await service.get(`/webhooks/${all.id}`)).json;
    expect(status).toMatchObject({ row_id: last, behind: 0, state: 'healthy' });
    const records = (await service.get(`/webhooks/${all.id}/deliveries`)).json as { event: string; row_id: number }[];
    expect(records.map(({ event }) => event).reverse()).toEqual(eventsOf(tracked).map(({ type }) => type));
    expect(records.find(({ event }) => event === 'message.removed')?.row_id).toBe(row);
    for (const listener of [plain, tracked, detailed]) await listener.close();
  });

  test('is delivered again under the same ids, from an offset on', async () => {
    const { id, receiver: hook } = await receiver(['message.updated']);
    const start = offsetOf(nextIn(await service.get('/events?changes=true')));
    const other = await service.socket('&changes=true');
    const row = await receive('one');
    await other.event(({ data }) => data.id === String(row));
    await mac.command({ do: 'edit', row, text: 'two' });
    await changed(other, row, 'edited');
    await eventually(() => expect(hook.deliveries).toHaveLength(1));
    expect((await service.post(`/webhooks/${id}/replay`, { after: start })).status).toBe(202);
    await eventually(() => expect(hook.deliveries).toHaveLength(2));
    const [first, again] = hook.deliveries;
    expect(again?.headers['x-webhook-delivery']).toBe(first?.headers['x-webhook-delivery']);
    expect(again?.event).toEqual(first?.event);
    // A row id repeats only rows, not changes.
    expect((await service.post(`/webhooks/${id}/replay`, { after: row - 1 })).status).toBe(202);
    await mac.command({ do: 'edit', row, text: 'three' });
    await eventually(() => expect(hook.deliveries).toHaveLength(3));
    expect(hook.deliveries[2]?.event.data).toMatchObject({ body: 'three' });
    await other.close();
  });

  test('may not be asked for as ranges alone', async () => {
    const answer = await service.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['messages.changed'] });
    expect(answer.json).toMatchObject({ status: 400, errors: [{ pointer: '/events' }] });
  });

  test('is one line each of tail', async () => {
    const configured = ['--config-dir', service.configFolder];
    const running = startPostern(['tail', '--changes', '--json', ...configured]);
    const lines = startPostern(['tail', '--type', 'message.updated', ...configured]);
    await eventually(async () => expect(await clients()).toBe(2));
    const row = await receive('Hello');
    await waitFor(() => running.stdout.includes(`"id":"${row}"`));
    await mac.command({ do: 'edit', row, text: 'Hello again' });
    await waitFor(() => running.stdout.includes('"edited"') && lines.stdout.includes('edited'));
    expect(lines.stdout).toContain(`message ${row} edited: Hello again`);
    expect((JSON.parse(running.stdout.trim().split('\n').at(-1) ?? '') as Event).offset).toMatch(/^MS4/);
    for (const { child } of [running, lines]) child.kill('SIGINT');
    await waitFor(() => [running, lines].every(({ child }) => child.exitCode === 0));
  });
});

describe('GET /events?changes=true', () => {
  test('without after is empty and says where it is; its links lead to everything after that, once', async () => {
    const start = await service.get('/events?changes=true');
    expect([start.status, start.text]).toEqual([200, '[]']);
    const row = await receive('x');
    await mac.command({ do: 'edit', row, text: 'y' });
    const seen: Event[] = [];
    let path = nextIn(start);
    await waitFor(async () => {
      const page = await service.get(path);
      expect(page.status).toBe(200);
      seen.push(...(page.json as Event[]));
      path = nextIn(page);
      return seen.some(({ data }) => data.id === String(row) && data.body === 'y');
    });
    const offsets = seen.map(({ offset }) => offset);
    expect(new Set(offsets).size).toBe(seen.length);
    const end = await service.get(path);
    expect([end.text, nextIn(end)]).toEqual(['[]', path]);
    // From the first offset the same event comes again, with the row in its current state.
    const again = await service.get(nextIn(start));
    expect((again.json as Event[]).filter(({ data }) => data.id === String(row)).at(-1)?.data.body).toBe('y');
  });

  test('with a row id gives the rows after it and changes from now on', async () => {
    const row = await receive('before');
    await eventually(async () => expect((await service.get(`/events?after=${row - 1}`)).json).toHaveLength(1));
    const page = await service.get(`/events?changes=true&after=${row - 1}&limit=1`);
    expect(page.json).toMatchObject([{ type: 'message.received', data: { id: String(row) } }]);
    expect(nextIn(page)).toContain('limit=1');
    await mac.command({ do: 'edit', row, text: 'after' });
    const update = await waitFor(async () => ((await service.get(nextIn(page))).json as Event[])[0]);
    expect(update).toMatchObject({ type: 'message.updated', data: { id: String(row), body: 'after' } });
  });

  test('stays the same to the byte for readers that do not ask, with an offset too', async () => {
    const row = await receive('plain');
    const plain = await waitFor(async () => {
      const answer = await service.get(`/events?after=${row - 1}`);
      return answer.text === '[]' ? undefined : answer;
    });
    expect(plain.text).toBe(JSON.stringify([{ type: 'message.received', data: (plain.json as Event[])[0]?.data }]));
    expect(plain.headers.get('link')).toBe(`<?after=${row}>; rel="next"`);
    const offset = offsetOf(nextIn(await service.get(`/events?changes=true&after=${row - 1}&limit=1`)));
    expect((await service.get(`/events?after=${offset}`)).text).toBe('[]');
  });

  test('refuses an offset of another log with the one to begin with', async () => {
    for (const [changes, form] of [
      ['&changes=true', /^MS4/],
      ['', /^\d+$/],
    ] as const) {
      const answer = await service.get(`/events?after=${encodeOffset({ rowId: 1, change: 0 }, 999)}${changes}`);
      expect(answer.json).toMatchObject({ status: 410, code: 'offset_expired', latest: expect.stringMatching(form) });
      const { latest } = answer.json as { latest: string };
      expect((await service.get(`/events?after=${latest}${changes}`)).text).toBe('[]');
    }
  });

  test('is 404 where the configuration has changes off, as are the WebSocket and a webhook', async () => {
    const other = await Service.here({ chatDbPath: mac.chatDbPath, settings: { changes: { enabled: false } } });
    const refused = { status: 404, code: 'changes_disabled' };
    expect((await other.get('/events?changes=true')).json).toMatchObject(refused);
    await expect(other.socket('&changes=true')).rejects.toThrow('404');
    const hook = { url: 'http://127.0.0.1:9/', events: ['message.updated'] };
    expect((await other.post('/webhooks', hook)).json).toMatchObject(refused);
    expect((await other.get('/webhooks')).json).toEqual([]);
    await other.dispose();
  });
});

test('a client that resumes by offset misses nothing and gets nothing twice, however often the service is killed', async () => {
  await service.becomeProcess();
  const { receiver: hook } = await receiver(['message.received', 'message.updated']);
  const client = new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: KEY });
  const ended = new AbortController();
  const seen: TrackedEvent[] = [];
  const { offset } = await client.trackedEvents();
  const listening = (async () => {
    for await (const event of client.listen({ changes: true, after: offset, signal: ended.signal })) seen.push(event);
  })();
  const rows: number[] = [];
  for (let life = 0; life < 4; life += 1) {
    for (let count = 0; count < 5; count += 1) {
      rows.push(await receive(`life ${life} ${count}`));
      for (const row of rows.slice(-8)) await mac.command({ do: 'edit', row, text: `edited in life ${life}` });
    }
    await service.stop('SIGKILL');
    for (const row of rows.slice(0, 3)) await mac.command({ do: 'edit', row, text: `edited before life ${life + 1}` });
    await service.launch();
  }
  const bodies = new Map<string, unknown>();
  for (const row of rows) bodies.set(String(row), ((await service.get(`/messages/${row}`)).json as Event['data']).body);
  const last = (events: readonly { readonly data: unknown }[]): Map<string, unknown> =>
    new Map(
      events
        .map(({ data }) => [(data as Event['data']).id, (data as Event['data']).body] as const)
        .filter(([id]) => bodies.has(id)),
    );
  await waitFor(() => [...bodies].every(([id, body]) => last(seen).get(id) === body));
  const received = seen
    .filter(({ type }) => type === 'message.received')
    .map(({ data }) => Number((data as Event['data']).id));
  expect(received).toEqual(rows);
  expect(new Set(seen.map((event) => event.offset)).size).toBe(seen.length);
  await waitFor(() =>
    [...bodies].every(([id, body]) => last(hook.deliveries.map(({ event }) => event)).get(id) === body),
  );
  ended.abort();
  await listening;
});

test('a restored backup refuses earlier offsets, because it numbers its changes again', async () => {
  const before = nextIn(await service.get('/events?changes=true'));
  const file = join(service.folder, 'postern.backup');
  const configured = ['--config-dir', service.configFolder];
  expect(await postern(['backup', file, ...configured])).toMatchObject({ exitCode: 0 });
  await service.stop();
  expect(await postern(['restore', file, '--force', ...configured])).toMatchObject({ exitCode: 0 });
  await service.launch();
  const answer = await service.get(before);
  expect(answer.json).toMatchObject({ status: 410, code: 'offset_expired' });
  const { latest } = answer.json as { latest: string };
  expect((await service.get(`/events?changes=true&after=${latest}`)).text).toBe('[]');
  const row = await receive('after the restore');
  await mac.command({ do: 'edit', row, text: 'and edited' });
  await waitFor(async () => {
    const { json } = await service.get(`/events?changes=true&after=${latest}`);
    return (json as Event[]).some(({ data }) => data.id === String(row) && data.body === 'and edited');
  });
});

import { once } from 'node:events';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MessageDetails, PosternClient, type PosternError } from '../../src/client/postern-client.ts';
import { ROW_EVENT_TYPES } from '../../src/core/model/event.ts';
import { eventually, waitFor } from './eventually.ts';
import { freePort, KEY, type Service } from './service.ts';

/** The service that the client talks to. */
export interface ClientTarget {
  /** The service, which can be killed and restarted. */
  readonly service: Service;
  /** Writes a new message into chat.db and returns its row id. */
  readonly write: (text: string) => number;
  newestRow(): number;
  /** Returns the id of a row or a conversation as clients see it. */
  id(own: string | number): string;
  dispose(): Promise<void>;
}

/** Number of rows that exist before the service starts. */
export const HISTORY = 450;

export async function failure(work: Promise<unknown>): Promise<PosternError> {
  return work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => error as PosternError,
  );
}

/** Declares the tests of the typed client, for either kind of service. */
export function clientCases(open: () => Promise<ClientTarget>): void {
  let target: ClientTarget;
  let client: PosternClient;
  const ends: (() => void)[] = [];
  const rowOf = (id: string): number => Number(id.slice(target.id('').length));
  const urlOf = ({ port }: Service): string => `http://127.0.0.1:${port}`;

  beforeAll(async () => {
    target = await open();
    client = new PosternClient({ url: urlOf(target.service), key: KEY });
    // A hub has its Mac's earlier rows once the stream has delivered them.
    await eventually(async () => {
      const [newest] = await client.events(0, 1000).then((events) => events.slice(-1));
      expect(newest?.data).toHaveProperty('id', target.id(HISTORY));
    });
  });
  afterAll(async () => {
    for (const end of ends) end();
    await target.dispose();
  });

  /** Collects row ids until it is ended. */
  function gather(options: Parameters<PosternClient['listen']>[0] = {}, from = client) {
    const stop = new AbortController();
    const gathered = {
      rows: [] as number[],
      broken: [] as string[],
      end: () => stop.abort(),
      ended: Promise.resolve(),
    };
    gathered.ended = (async () => {
      const onReconnect = (reason: string): void => void gathered.broken.push(reason);
      for await (const event of from.listen({ ...options, signal: stop.signal, onReconnect })) {
        gathered.rows.push(rowOf(event.data.id));
      }
    })();
    ends.push(gathered.end);
    return gathered;
  }

  describe('reading', () => {
    test('health, status, conversations and messages', async () => {
      expect(await client.health()).toMatchObject({ status: 'ok', backend: { connected: true } });
      expect((await client.status()).newest_row).toBe(HISTORY);
      const [conversation] = await client.conversations({ limit: 1 });
      expect(await client.conversation(conversation?.id ?? '')).toEqual(conversation);
      const [newest] = await client.messages({ limit: 1, conversation_id: target.id('any;-;+15550100') });
      expect(await client.message(newest?.id ?? '')).toEqual(newest);
    });

    test('every message, page after page', async () => {
      const rows: number[] = [];
      for await (const { id } of client.allMessages({ order: 'asc' })) rows.push(rowOf(id));
      expect(rows.slice(0, HISTORY)).toEqual(Array.from({ length: HISTORY }, (_, place) => place + 1));
    });

    test('details are added to what is read, wherever they are asked for, and nowhere else', async () => {
      const details: Partial<MessageDetails> = { service: 'iMessage', kind: 'message', error: null, reactions: [] };
      const [first] = await client.messages({ limit: 1, include: 'details' });
      const plain = await client.message(first?.id ?? '');
      expect(plain).not.toHaveProperty('details');
      expect(first).toEqual({ ...plain, details: expect.objectContaining(details) });
      expect(await client.message(first?.id ?? '', { include: 'details' })).toEqual(first);
      // Every page has details, not only the first.
      let count = 0;
      for await (const message of client.allMessages({ include: 'details', limit: 2, order: 'asc' })) {
        expect(message.details?.kind).toBe('message');
        count += 1;
        if (count === 5) break;
      }
      for await (const event of client.listen({ after: 0, include: 'details' })) {
        expect(event.data).toHaveProperty('details', expect.objectContaining(details));
        break;
      }
      for await (const event of client.listen({ after: 0 })) {
        expect(event.data).not.toHaveProperty('details');
        break;
      }
    });

    test('what the service refuses is said in its own words', async () => {
      const wrong = new PosternClient({ url: urlOf(target.service), key: 'wrong' });
      expect(await failure(wrong.messages())).toMatchObject({
        status: 401,
        code: 'unauthorized',
        name: 'PosternError',
      });
      const unknown = failure(client.message(target.id('999999')));
      expect(await unknown).toMatchObject({ status: 404, code: 'message_not_found' });
      const several = await failure(client.addWebhook({ url: 'x', events: [] }));
      expect(several).toMatchObject({ status: 400, code: 'invalid_request' });
      expect(several.message).toMatch(/http or https.*at least one/);
      expect(() => new PosternClient({ key: 'line\nbreak' })).toThrow('contains a control character');
    });
  });

  test('webhooks are managed', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    const include = ['details'] as const;
    const added = await client.addWebhook({ url, events: ROW_EVENT_TYPES, include });
    expect(await client.webhook(added.id)).toMatchObject({ ...added, state: 'healthy' });
    expect(await client.webhooks()).toEqual([added]);
    expect(await client.testWebhook(added.id)).toMatchObject({ delivered: false });
    expect(await client.replayWebhook(added.id, 449)).toMatchObject({ id: added.id });
    const filter = { is_from_me: false };
    expect(await client.changeWebhook(added.id, { enabled: false, secret: 's', filter, name: 'n8n' })).toMatchObject({
      ...{ ...added, state: 'paused', has_secret: true, filter, name: 'n8n', include },
    });
    expect(await client.replayWebhook(added.id, 'latest')).toMatchObject({ behind: 0 });
    expect(await client.replayDropped(added.id)).toMatchObject({ dropped: 0 });
    expect(Array.isArray(await client.deliveries(added.id))).toBe(true);
    await client.removeWebhook(added.id);
    expect(await client.webhooks()).toEqual([]);
  });

  describe('listening', () => {
    test.each(['websocket', 'http'] as const)(
      'begins now, and misses nothing while the service is killed and started again (%s)',
      async (over) => {
        const { service, write } = target;
        const listener = gather({ over });
        await waitFor(() => {
          write('are you there?');
          return listener.rows.length > 0;
        });
        for (let round = 0; round < 2; round += 1) {
          await service.stop('SIGKILL');
          write('while it is down');
          const launched = service.launch();
          write('while it starts');
          await launched;
          const newest = write('after it started');
          await eventually(() => expect(listener.rows).toContain(newest));
        }
        const [first = 0] = listener.rows;
        expect(first).toBeGreaterThan(HISTORY);
        expect(listener.rows).toEqual(listener.rows.map((_, place) => first + place));
        expect(listener.broken.length).toBeGreaterThanOrEqual(2);
        listener.end();
        await listener.ended;
      },
    );

    test('needs no first connection to be gapless: the very first one may break', async () => {
      const relay = new Relay(target.service);
      ends.push(() => relay.close());
      const listener = gather({}, new PosternClient({ url: await relay.start(), key: KEY }));
      await eventually(() => expect(relay.handshakes).toBeGreaterThan(0));
      const missed = target.write('between status and the first line');
      relay.admit();
      await eventually(() => expect(listener.rows).toContain(missed));
      listener.end();
      await listener.ended;
      relay.close();
    });

    test('takes up from the beginning, all of it, however slowly it is read', async () => {
      const rows: number[] = [];
      const newest = target.newestRow();
      for await (const event of client.listen({ after: 0 })) {
        rows.push(rowOf(event.data.id));
        if (rows.length === 200) for (let n = 0; n < 20; n += 1) await client.health();
        if (rows.at(-1) === newest) break;
      }
      expect(rows).toEqual(Array.from({ length: newest }, (_, place) => place + 1));
    });

    test('waits for an event, longer than for other answers', async () => {
      const { newest_event: newest } = await client.status();
      const waiting = client.events(newest.offset ?? newest.row_id, 100, { wait: 50 });
      const row = target.write('waited for');
      expect((await waiting).map(({ data }) => data.id)).toEqual([target.id(row)]);
    });

    test('is refused for good by a wrong key and a position that means nothing', async () => {
      const wrong = new PosternClient({ url: urlOf(target.service), key: 'wrong' });
      await expect(gather({}, wrong).ended).rejects.toMatchObject({ status: 401 });
      await expect(gather({ after: 1 }, wrong).ended).rejects.toMatchObject({ status: 401 });
      await expect(wrong.listen({ over: 'http', after: 0 }).next()).rejects.toMatchObject({ status: 401 });
      await expect(gather({ after: 999_999 }).ended).rejects.toMatchObject({ status: 410 });
    });

    test('ends at once when it is told to, and when its reader has had enough', async () => {
      const listener = gather({ after: 0 });
      await eventually(() => expect(listener.rows.length).toBeGreaterThan(0));
      listener.end();
      await listener.ended;
      const aborted = new AbortController();
      aborted.abort();
      for await (const _ of client.listen({ signal: aborted.signal })) throw new Error('an event');
      for await (const _ of client.listen({ after: 0 })) break;
    });
  });
}

/** Forwards connections to the service, and drops every WebSocket handshake until told to admit them. */
class Relay {
  handshakes = 0;
  #isAdmitting = false;
  readonly #service: Service;
  readonly #server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (first: Buffer) => {
      if (first.includes('/api/v1/ws')) {
        this.handshakes += 1;
        if (!this.#isAdmitting) return void socket.destroy();
      }
      const onward = connect(this.#service.port, '127.0.0.1');
      onward.on('error', () => {});
      onward.write(first);
      socket.pipe(onward).pipe(socket);
    });
  });

  constructor(service: Service) {
    this.#service = service;
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  admit(): void {
    this.#isAdmitting = true;
  }

  close(): void {
    this.#server.close();
  }
}

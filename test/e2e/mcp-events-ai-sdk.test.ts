import { existsSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect } from '@jest/globals';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { testIf } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const PACKAGE = new URL('../support/programs/node_modules/@ai-sdk/mcp/dist/index.js', import.meta.url);
const isThere = existsSync(PACKAGE);
const ANA = '+15550100';
const folder = temporaryFolder();

interface Stored {
  readonly key: string;
  readonly id?: string;
  readonly cursor: string | null;
  readonly status: string;
  readonly truncated: boolean;
}

interface Events {
  list(): Promise<{ readonly events: readonly { readonly name: string }[] }>;
  subscribe(options: object): Promise<object>;
  refresh(which: { readonly key: string }): Promise<object>;
  unsubscribe(which: { readonly key: string }): Promise<void>;
}

/** The parts of the package that this test uses; it is not installed with the other packages. */
interface AiSdk {
  readonly experimental_createMCPClient: (config: object) => Promise<{
    readonly experimental_events: Events;
    close(): Promise<void>;
  }>;
  readonly experimental_createMCPEventWebhook: (options: object) => (request: Request) => Promise<Response>;
}

const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Creates a chat.db with one conversation that has one message. */
function conversation(path: string): ChatFixture {
  const database = new ChatFixture(path);
  database.chat(`any;-;${ANA}`, [ANA]);
  database.message({ chat: 1, handle_id: 1, text: 'before' });
  return database;
}

/** Creates an in-memory store, which the package requires. */
function memoryStore() {
  const all = new Map<string, Stored>();
  return {
    all,
    get: async (key: string) => all.get(key),
    getById: async (id: string) => [...all.values()].find((one) => one.id === id),
    set: async (one: Stored) => void all.set(one.key, one),
    update: async (key: string, patch: Partial<Stored>) => {
      const known = all.get(key);
      if (known !== undefined) all.set(key, { ...known, ...patch });
    },
    delete: async (key: string) => void all.delete(key),
  };
}

/** Serves the package's own handler on a loopback port. */
async function serve(handler: (request: Request) => Promise<Response>): Promise<string> {
  const answerTo = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${incoming.url}`;
    const answer = await handler(new Request(url, { method: 'POST', headers, body: Buffer.concat(chunks) }));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
  const server = createServer((incoming, outgoing) => void answerTo(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

testIf(isThere, 'npm ci --prefix test/support/programs installs @ai-sdk/mcp')(
  'the AI SDK lists, subscribes, is challenged, receives, refreshes, and learns of a gap and of the end',
  async () => {
    const { experimental_createMCPClient: createClient, experimental_createMCPEventWebhook: createWebhook } =
      (await import(PACKAGE.href)) as AiSdk;
    const path = join(folder, 'chat.db');
    let database = conversation(path);
    const service = await Service.here({ chatDbPath: path });
    closers.push(() => service.dispose());
    const { id, key } = await limitedKey(service, { scopes: ['events', 'webhooks'], read: [ANA] });
    const store = memoryStore();
    const client = await createClient({
      transport: { type: 'http', url: `http://127.0.0.1:${service.port}/mcp`, headers: { 'X-API-Key': key } },
      experimental_events: { store },
    });
    closers.push(() => client.close());
    const events: string[] = [];
    const ends: string[] = [];
    const url = await serve(
      createWebhook({
        store,
        onEvent: async ({ event }: { event: { data: { body: string } } }) => void events.push(event.data.body),
        onGap: async () => void ends.push('gap'),
        onTerminated: async () => void ends.push('terminated'),
        onError: (error: unknown) => void ends.push(String(error)),
      }),
    );
    const api = client.experimental_events;
    expect((await api.list()).events.map(({ name }) => name)).toContain('message.received');
    const subscribe = async (): Promise<string> => {
      const name = 'message.received';
      await api.subscribe({ name, arguments: {}, delivery: { mode: 'webhook', url, allowInsecureLocalhost: true } });
      const [stored] = [...store.all.values()];
      expect(stored).toMatchObject({ status: 'active', truncated: false });
      return stored?.key ?? '';
    };
    const first = await subscribe();
    for (const text of ['one', 'two']) {
      database.message({ chat: 1, handle_id: 1, text, date: appleNs(new Date().toISOString()) });
    }
    await waitFor(() => events.length === 2);
    expect(events[1]).toBe('two');
    await api.refresh({ key: first });
    expect(store.all.get(first)?.cursor).toMatch(/^\d+$/);
    await api.unsubscribe({ key: first });
    expect(store.all.size).toBe(0);

    await subscribe();
    await service.stop('SIGTERM');
    database.close();
    for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
    database = conversation(path);
    await service.launch();
    await waitFor(() => ends.includes('gap'));
    await service.request('DELETE', `/keys/${id}`);
    await waitFor(() => ends.includes('terminated'));
    expect(ends).toEqual(['gap', 'terminated']);
    database.close();
    expect(store.all.size).toBe(0);
  },
);

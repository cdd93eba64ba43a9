import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type { SearchHit } from '../../src/client/types.ts';
import type { MessageDetails } from '../../src/core/model/details.ts';
import type { Finding } from '../../src/core/model/finding.ts';
import type { Message } from '../../src/core/model/message.ts';
import { eventually } from '../support/eventually.ts';
import { postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import type { StatusWithSearch } from '../support/status-with-search.ts';

const PRELOAD = fileURLToPath(new URL('../support/held-decoder.mjs', import.meta.url));
const FROM = '+15550100';

/** A service whose decoder never finishes one of the rows that `contents` writes. Nothing ever releases it. */
async function withHeldDecoder(settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
  const mac = await simulatedMac();
  const file = `${mac.chatDbPath}.held`;
  const service = await Service.start({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings,
    env: { NODE_OPTIONS: `--import ${PRELOAD}`, POSTERN_TEST_HELD: file },
  });
  const held = (): readonly string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);
  const receive = (text: string) => mac.command({ do: 'receive', from: FROM, text });
  const contents = () => mac.command({ do: 'contents', from: FROM });
  return { mac, service, held, receive, contents };
}

const ids = (events: readonly unknown[]) => (events as { data: Message }[]).map(({ data }) => data.id);

describe('while one row is being decoded', () => {
  test('health, a send, events without details and the signal to stop do not wait, and details do not wait for long', async () => {
    const { service, held, receive, contents } = await withHeldDecoder({ search: { enabled: false } });
    const receiver = await Receiver.start();
    const hook = { url: receiver.url, include: ['details'], events: ['message.received', 'message.sent'] };
    expect((await service.post('/webhooks', hook)).status).toBe(201);
    const detailed = await service.socket('&include=details');
    const plain = await service.socket();
    await receive('before');
    await contents();
    await eventually(() => expect(held()).toEqual(['thread']));
    expect((await service.get('/health')).status).toBe(200);
    expect((await service.post('/messages', { recipient: FROM, body: 'sent' })).status).toBe(201);
    expect((await service.get('/messages?limit=1')).status).toBe(200);
    await plain.event(({ data }) => data.body === 'sent');
    expect(detailed.events.length).toBeLessThan(plain.events.length);
    // After five seconds without progress the row is served without its content, and nobody waits for it again.
    await detailed.event(({ data }) => data.body === 'sent');
    expect(ids(detailed.events)).toEqual(ids(plain.events));
    const left = detailed.events.filter(({ data }) => (data.details as MessageDetails | undefined)?.undecoded);
    expect(left).toMatchObject([{ data: { details: { kind: 'link', undecoded: ['payload_data'] } } }]);
    await eventually(() => expect(receiver.deliveries.at(-1)?.event.data.body).toBe('sent'));
    const messages = plain.events.filter(({ type }) => type.startsWith('message.'));
    expect(ids(receiver.deliveries.map(({ event }) => event))).toEqual(ids(messages));
    const asked = await service.get(`/messages/${left[0]?.data.id}?include=details`);
    expect(asked.json).toMatchObject({ details: { undecoded: ['payload_data'] } });
    expect(held()).toEqual(['thread']);
    expect(service.output).toContain('the content of a message could not be decoded and is left out');
    await contents();
    await eventually(() => expect(held()).toEqual(['thread', 'thread']));
    expect(await service.stop()).toBe(0);
    await receiver.close();
  }, 60_000);
});

/** Opens an endless answer of `GET /events`. Returns everything that it has sent so far. */
async function stream(service: Service, query: string, accept: string): Promise<() => string> {
  const asked = request(`${service.url}/events?${query}`, { headers: { 'x-api-key': KEY, accept }, agent: false });
  asked.on('error', () => undefined);
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
  let text = '';
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  answer.on('error', () => undefined);
  return () => text;
}

describe.each(['text/event-stream', 'application/x-ndjson'])(
  'while a row is being decoded for a stream of %s',
  (accept) => {
    test('health, a send, streams without details and the signal to stop do not wait, and details not for long', async () => {
      const { service, held, receive, contents } = await withHeldDecoder({ search: { enabled: false } });
      const detailed = await stream(service, 'include=details', accept);
      const plain = await stream(service, '', accept);
      await receive('before');
      await eventually(() => expect(detailed()).toContain('before'));
      await contents();
      await eventually(() => expect(held()).toEqual(['thread']));
      expect((await service.get('/health')).status).toBe(200);
      expect((await service.post('/messages', { recipient: FROM, body: 'sent' })).status).toBe(201);
      await eventually(() => expect(plain()).toContain('"body":"sent"'));
      expect(detailed()).not.toContain('"body":"sent"');
      await eventually(() => expect(detailed()).toContain('"body":"sent"'));
      expect(detailed().match(/"undecoded":\[[^\]]*\]/g)).toEqual(['"undecoded":["payload_data"]']);
      expect(held()).toEqual(['thread']);
      const late = await stream(service, 'include=details&after=0', accept);
      await contents();
      await eventually(() => expect(held()).toEqual(['thread', 'thread']));
      expect(late()).toContain('before');
      expect(await service.stop()).toBe(0);
    }, 60_000);
  },
);

describe('a row whose decoding the process did not survive', () => {
  test('is not decoded for search again, is named by status and doctor, and is found by its text', async () => {
    const { mac, service, held, receive, contents } = await withHeldDecoder({ search: { enabled: true } });
    await contents();
    await eventually(() => expect(held()).toEqual(['thread']));
    expect((await service.get('/health')).status).toBe(200);
    await service.stop('SIGKILL');
    await service.launch();
    await receive('umbrella');
    const found = async (q: string) =>
      ((await service.get(`/search?q=${q}`)).json as SearchHit[]).map(({ message }) => message.id);
    await eventually(async () => expect(await found('umbrella')).toHaveLength(1));
    await eventually(async () =>
      expect(((await service.get('/status')).json as StatusWithSearch).search).toMatchObject({
        state: 'complete',
        skipped_rows: 1,
        skipped_ids: [expect.any(String)],
      }),
    );
    const { search } = (await service.get('/status')).json as StatusWithSearch;
    const [id = ''] = search?.skipped_ids ?? [];
    const { stdout } = await postern(['doctor', '--config-dir', service.configFolder, '--json']);
    const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'search_skipped', sentence: expect.stringContaining(`: ${id}.`) }),
    );
    // Whatever happens to the message later, it is not decoded for search again, and a search that finds it does not
    // decode it either.
    await mac.command({ do: 'read', row: Number(id) });
    await receive('parasol');
    await eventually(async () => expect(await found('parasol')).toHaveLength(1));
    expect(await found('from:%2B15550100')).toContain(id);
    expect(held()).toEqual(['thread']);
  }, 60_000);
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SearchHit } from '../../src/client/types.ts';
import type { AssociatedRows } from '../../src/core/model/associated-rows.ts';
import { eventually } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp } from '../support/mcp-clients.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import type { StatusWithSearch } from '../support/status-with-search.ts';

const ANA = '+15550100';
const BEN = '+15550101';

let mac: Awaited<ReturnType<typeof simulatedMac>>;

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'hello' });
  await mac.command({ do: 'app', from: ANA, text: 'Zugzwang in chess', type: 2 });
  await mac.command({ do: 'app', from: BEN, text: 'Zugzwang of Ben', type: 3 });
});
afterAll(() => mac.dispose());

describe.each([
  ['reactions', []],
  ['by_kind', ['Zugzwang in chess']],
] as const)('messages of apps, shown as %s', (associated_rows: AssociatedRows, ofAna) => {
  let service: Service;
  let key: string;
  beforeAll(async () => {
    const { chatDbPath, osascriptPath } = mac;
    const settings = { backend: { associated_rows }, search: { enabled: true } };
    service = await Service.here({ chatDbPath, osascriptPath, settings });
    ({ key } = await limitedKey(service, { preset: 'reader', read: [ANA] }));
  });
  afterAll(() => service.dispose());

  test('are found by a search of the owner, and of a key in its own conversations', async () => {
    const found = async (headers = {}): Promise<readonly string[]> => {
      const { json } = await service.get('/search?q=zugzwang', headers);
      return (json as SearchHit[]).map(({ message }) => message.body).sort();
    };
    await eventually(async () =>
      expect(((await service.get('/status')).json as StatusWithSearch).search).toMatchObject({ state: 'complete' }),
    );
    expect(await found()).toEqual(associated_rows === 'by_kind' ? ['Zugzwang in chess', 'Zugzwang of Ben'] : []);
    expect(await found({ 'x-api-key': key })).toEqual(ofAna);
  });

  test('are in the lists of a key', async () => {
    const { json } = await service.get('/messages', { 'x-api-key': key });
    expect((json as { body: string }[]).map(({ body }) => body)).toEqual([...ofAna, 'hello']);
  });

  test('are read over MCP', async () => {
    const client = await connectMcp('2026 over HTTP', service, key);
    const { text } = await client.call('messages_read', { conversation_id: `any;-;${ANA}` });
    const everything = await client.call('messages_read', {});
    await client.close();
    const ofBoth = await limitedKey(service, { preset: 'reader', read: [ANA, BEN] });
    const wider = await connectMcp('2026 over HTTP', service, ofBoth.key);
    const { text: oneOfBoth } = await wider.call('messages_read', { conversation_id: `any;-;${ANA}` });
    await wider.close();
    expect(text).toContain('hello');
    expect(text.includes('Zugzwang in chess')).toBe(associated_rows === 'by_kind');
    expect(text).not.toContain('Zugzwang of Ben');
    expect(everything.text).toContain('hello');
    expect(everything.text).not.toContain('Zugzwang of Ben');
    expect(oneOfBoth).toContain('hello');
    expect(oneOfBoth).not.toContain('Zugzwang of Ben');
  });
});

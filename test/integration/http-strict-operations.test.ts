import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pathOf, type Route } from '../../src/core/http/route.ts';
import { OWN_ADDRESS } from '../../src/features/simulator/chat-database.ts';
import { ALL_OPERATIONS, ALL_ROUTES } from '../support/all-operations.ts';
import { type Answer, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const STRICT = { prefer: 'handling=strict' };

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
beforeAll(async () => {
  mac = await simulatedMac();
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { search: { enabled: true }, self: { address: OWN_ADDRESS } },
  });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const pointersOf = ({ json }: Answer): readonly string[] =>
  ((json as { errors?: readonly { pointer: string }[] } | undefined)?.errors ?? []).map(({ pointer }) => pointer);

// The handshake, the sign-in and MCP check first where a request comes from.
const ids = Object.keys(ALL_OPERATIONS).filter((id) => !['openWebSocket', 'signIn', 'callMcp'].includes(id));

function ask(id: string, query: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Answer> {
  const route = ALL_ROUTES[id] as Route;
  const path = pathOf(route).replaceAll(/\{\w+\}/g, '7');
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const options = { headers: { ...headers, ...type }, ...(body !== undefined && { body }) };
  return service.request(route.method, `/../..${path}${query}`, options);
}

describe('with Prefer: handling=strict', () => {
  test.each(ids)('%s names a parameter that it does not know', async (id) => {
    // Without `seconds=0` the diagnostics take half a minute.
    const answer = await ask(id, '?nope=1&seconds=0', STRICT);
    expect([answer.status, pointersOf(answer)]).toEqual([400, expect.arrayContaining(['?nope'])]);
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    const lenient = await ask(id, '?nope=1&seconds=0', {});
    expect(pointersOf(lenient)).not.toContain('?nope');
    expect(lenient.headers.get('preference-applied')).toBeNull();
  });

  const withBody = ids.filter((id) => ALL_OPERATIONS[id]?.body !== undefined);
  test.each(withBody)('%s names a member that it does not know', async (id) => {
    const body = JSON.stringify({ nope: 1, 'a/b~c': 2 });
    const answer = await ask(id, '', STRICT, body);
    expect([answer.status, pointersOf(answer)]).toEqual([400, expect.arrayContaining(['/nope', '/a~1b~0c'])]);
    expect(pointersOf(await ask(id, '', {}, body))).not.toContain('/nope');
    const both = await ask(id, '?nope=1&nope=2', STRICT, body);
    expect(pointersOf(both)).toEqual(['?nope', ...pointersOf(answer)]);
    const { example } = ALL_OPERATIONS[id]?.body ?? {};
    expect(pointersOf(await ask(id, '?nope=1', STRICT, JSON.stringify(example)))).toEqual(['?nope']);
  });

  test('a known parameter with a wrong value is named with the mistakes in the body, strict or not', async () => {
    const body = JSON.stringify({ name: '', scopes: 1 });
    const inBody = ['/name', '/scopes'];
    expect(pointersOf(await ask('addKey', '?include=x&nope=1', {}, body))).toEqual(['?include', ...inBody]);
    expect(pointersOf(await ask('addKey', '?include=x&nope=1', STRICT, body))).toEqual([
      '?nope',
      '?include',
      ...inBody,
    ]);
  });

  const withLimit = ids.filter((id) => 'limit' in (ALL_OPERATIONS[id]?.query?.shape ?? {}));
  test.each(withLimit)('%s refuses a limit above its maximum', async (id) => {
    const query = '?limit=1001&after=0&q=x';
    const answer = await ask(id, query, STRICT);
    expect([answer.status, pointersOf(answer)]).toEqual([400, expect.arrayContaining(['?limit'])]);
    expect(pointersOf(await ask(id, query, {}))).not.toContain('?limit');
  });
});

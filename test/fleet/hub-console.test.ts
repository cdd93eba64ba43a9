import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RESOURCES } from '../../src/core/http/resources.ts';
import { pathOf } from '../../src/core/http/route.ts';
import { waitFor } from '../support/eventually.ts';
import { Fleet, type Hub } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { StandInMachine } from '../support/stand-in-mac-machine.ts';

const CONSOLE = new URL('../../dist/src/features/console/static/', import.meta.url);

interface Documented {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

describeWithNats('the pages of a hub', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let hub: Hub;
  let machine: StandInMachine;

  beforeAll(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
    machine = await StandInMachine.start(fleet, 'm1', {
      handle: (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('of the Mac'),
    });
    hub = await fleet.hub();
    await waitFor(async () => ((await (await hub.get('/api/v1/macs')).json()) as unknown[]).length === 1);
  });
  afterAll(async () => {
    await machine.stop();
    await fleet.stop();
    await server.dispose();
  });

  const open = (path: string, accept = '*/*'): Promise<Response> =>
    fetch(`${hub.url}${path}`, { redirect: 'manual', headers: { accept } });

  test('come from its own files, without a key and with their policy', async () => {
    const page = await open('/console');
    const html = await page.text();
    expect([page.status, html.includes('<title>Postern</title>')]).toEqual([200, true]);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const [, script = ''] = /src="([^"]+console\.js)"/.exec(html) ?? [];
    expect(await (await open(`/${script}`)).text()).toBe(readFileSync(new URL('console.js', CONSOLE), 'utf8'));
    expect((await open('/docs')).status).toBe(200);
    expect((await open('/', 'text/html')).headers.get('location')).toBe('./console');
    expect(await (await open('/ready')).json()).toEqual({ ready: true });
  });

  test('never come from a Mac: its console is a file to save', async () => {
    const passed = await hub.get('/macs/m1/console');
    expect([passed.status, await passed.text()]).toEqual([200, 'of the Mac']);
    expect(passed.headers.get('content-disposition')).toBe('attachment');
    expect(passed.headers.get('content-security-policy')).toMatch(/^sandbox;/);
    // Without the key of the hub nothing of the Mac's owner is passed on.
    expect((await open('/macs/m1/console')).status).toBe(200);
  });

  test('describe the operations that the hub has, which its status lists', async () => {
    const { paths } = (await (await open('/openapi.json')).json()) as Documented;
    const documented = Object.values(paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
    const { operations = [] } = await hub.client.status();
    const passed = ['GET', 'POST', 'PATCH', 'DELETE'].map((method) => `passOn${method}`);
    expect(documented.toSorted()).toEqual([...operations, ...passed].toSorted());
    const ofMac = RESOURCES.flatMap(({ routes = {} }) => Object.entries(routes));
    const needMac = ofMac.filter(([id]) => !operations.includes(id));
    for (const [id, route] of needMac) {
      const answer = await fetch(`${hub.url}${pathOf(route)}`, {
        method: route.method,
        headers: { 'x-api-key': hub.key },
      });
      expect([id, answer.status, await answer.json()]).toMatchObject([id, 404, { code: 'mac_needed' }]);
    }
  });

  test('are signed in with a code, for its own pages alone', async () => {
    const exchange = (origin: string) =>
      fetch(`${hub.url}/console/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify({ code: 'wrong' }),
      });
    expect(await (await exchange(hub.url)).json()).toMatchObject({ code: 'sign_in_code_wrong' });
    expect((await exchange('https://evil.example')).status).toBe(403);
    expect(await (await hub.post('/api/v1/sign-in-codes', {})).json()).toMatchObject({ code: 'socket_required' });
  });
});

import type { RequestListener } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { PosternClient } from '../../src/client/postern-client.ts';
import { requestSubject } from '../../src/features/fleet/protocol/subjects.ts';
import { waitFor } from '../support/eventually.ts';
import { Fleet, HUB_KEY, type Hub } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { postern } from '../support/postern.ts';
import { StandInMachine } from '../support/stand-in-mac-machine.ts';

describeWithNats('a Mac with two machines', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let machines: StandInMachine[] = [];
  /** What each machine was asked. */
  let asked: string[] = [];

  beforeAll(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
  });
  afterAll(() => server.dispose());
  afterEach(async () => {
    await Promise.all(machines.splice(0).map((one) => one.stop()));
    machines = [];
    asked = [];
    await fleet.stop();
  });

  /** Starts a machine; `one` has joined before `two`. */
  async function start(member: string, machine: 'one' | 'two'): Promise<StandInMachine> {
    const handle: RequestListener = ({ method, url }, response) => {
      asked.push(`${machine} ${method} ${url}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
    };
    const made = await StandInMachine.start(fleet, member, { machine, sinceMs: machine === 'one' ? 1 : 2, handle });
    machines.push(made);
    return made;
  }
  async function knows(hub: Hub, member: string, count: number): Promise<void> {
    await waitFor(async () => {
      const macs = (await (await hub.get('/api/v1/macs')).json()) as { id: string; machines: { state: string }[] }[];
      const here = macs.filter(({ id }) => id === member).flatMap((mac) => mac.machines);
      return here.filter(({ state }) => state === 'present').length === count;
    });
  }
  async function answered(hub: Hub, path: string): Promise<unknown> {
    const answer = await hub.get(path);
    const { code } = (await answer.json()) as { code?: string };
    return code ?? answer.headers.get('postern-machine');
  }

  test('answers by the other one as soon as the broker says that nobody has a request', async () => {
    const one = await start('p1', 'one');
    await start('p1', 'two');
    const hub = await fleet.hub();
    await knows(hub, 'p1', 2);
    await one.stop();
    expect(await answered(hub, '/macs/p1/api/v1/messages')).toBe('two');
    expect(asked).toEqual(['two GET /api/v1/messages']);
    expect(await answered(hub, '/macs/p1/mcp')).toBe('other_machine');
  });

  test('is only read at the other one if the first says nothing, and its own stream is asked of the hub', async () => {
    const one = await start('p5', 'one');
    await start('p5', 'two');
    const hub = await fleet.hub();
    await knows(hub, 'p5', 2);
    const mute = await connect({ servers: server.url });
    mute.subscribe(requestSubject('p5', 'one'));
    await mute.flush();
    await one.stop();
    for (const [path, code] of [
      ['webhooks', 'mac_silent'],
      ['messages', 'send_outcome_unknown'],
    ]) {
      expect(await (await hub.post(`/macs/p5/api/v1/${path}`, {})).json()).toMatchObject({ code });
    }
    expect(asked).toEqual([]);
    expect(await answered(hub, '/macs/p5/api/v1/messages')).toBe('two');
    await mute.close();
    expect(await answered(hub, '/macs/p5/api/v1/ws')).toBe('fleet_stream');
  });

  test('has the same first machine at a hub that has started while that one is away', async () => {
    const one = await start('p2', 'one');
    await start('p2', 'two');
    const before = await fleet.hub();
    await knows(before, 'p2', 2);
    expect(await answered(before, '/macs/p2/mcp')).toBe('one');
    await one.stop();
    const hub = await fleet.hub();
    await knows(hub, 'p2', 1);
    asked = [];
    for (const path of ['/mcp', '/api/v1/messages/12', '/api/v1/messages?cursor=abc']) {
      expect([path, await answered(hub, `/macs/p2${path}`)]).toEqual([path, 'other_machine']);
    }
    expect(asked).toEqual([]);
    expect(await answered(hub, '/macs/p2/api/v1/messages')).toBe('two');
    await start('p2', 'one');
    await knows(hub, 'p2', 2);
    expect(await answered(hub, '/macs/p2/mcp')).toBe('one');
  });

  test('is found by its name in capitals, and by the path of the command line', async () => {
    await start('p3', 'one');
    await start('p3', 'two');
    const hub = await fleet.hub();
    await knows(hub, 'p3', 2);
    expect(await answered(hub, '/macs/P3/at/TWO/api/v1/messages')).toBe('two');
    expect((await hub.events('after=0&mac=P3')).events).toEqual([]);
    asked = [];
    await new PosternClient({ url: `${hub.url}/macs/P3/at/two/`, key: HUB_KEY }).messages();
    expect(asked).toEqual(['two GET /api/v1/messages']);
  });

  test('is shown by the status of a hub with its machines', async () => {
    const one = await start('p4', 'one');
    await start('p4', 'two');
    const hub = await fleet.hub();
    await knows(hub, 'p4', 2);
    const env = { POSTERN_URL: hub.url, POSTERN_API_KEY: HUB_KEY };
    expect((await postern(['status'], { env })).stdout).toContain('p4 (one, two), present');
    await one.stop();
    await knows(hub, 'p4', 1);
    expect((await postern(['status'], { env })).stdout).toContain('p4 (one away, two), present');
  });

  test('a hub refuses a bad offset, and says which ones it takes', async () => {
    const answer = await (await fleet.hub()).get('/api/v1/events?after=-1');
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('must be 0 or an offset')]);
  });
});

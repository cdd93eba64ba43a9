import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isLong, testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { HubProcess } from './fleet-hubs.ts';
import { wait } from './harness.ts';

/**
 * A lease expires only after six seconds, so this has no short form; test/fleet/hub-webhooks.test.ts covers it without
 * waiting.
 */
const describeLong = isLong ? describeWithNats : (name: string) => testIf(false, 'long form only')(name, () => {});

const MACS = ['m1', 'm2', 'm3'];
const PAUSE_MS = 16;
const LEASE_MS = 15_000;

interface Fault {
  readonly name: string;
  /** Maximum number of repeats: deliveries just before the fault that were not recorded yet. */
  readonly repeats: number;
  readonly run: (holder: HubProcess, server: NatsServer) => Promise<void>;
}

const FAULTS: readonly Fault[] = [
  { name: 'kill -9', repeats: 20, run: async (holder) => holder.stop() },
  {
    name: 'SIGSTOP for longer than the lease',
    repeats: 20,
    async run(holder) {
      holder.signal('SIGSTOP');
      await wait(LEASE_MS);
      holder.signal('SIGCONT');
    },
  },
  {
    name: 'SIGSTOP for less than the lease',
    repeats: 0,
    async run(holder) {
      holder.signal('SIGSTOP');
      await wait(4000);
      holder.signal('SIGCONT');
    },
  },
  {
    name: 'all stores of the broker deleted',
    repeats: 20,
    async run(_, server) {
      await server.deleteStore();
      await server.launch();
      await server.createFleet(MACS);
    },
  },
];

describeLong('a webhook whose hub gets', () => {
  let server: NatsServer;
  let folder: string;
  let agents: StandInAgent[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postern-hubs-'));
    server = await NatsServer.forFleet(MACS);
    agents = await Promise.all(MACS.map((mac) => StandInAgent.connect(server.url, mac)));
  });
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    await server.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  let row = 0;

  async function isDelivering({ port }: HubProcess): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { 'X-API-Key': KEY } });
    return /^postern_hub_delivering 1$/m.test(await answer.text());
  }

  test.each(FAULTS)(
    '$name gets every event, in order',
    async ({ name, repeats, run }) => {
      const receiver = await Receiver.start();
      const hubs = [
        await HubProcess.start(mkdtempSync(join(folder, 'h-')).concat('/a'), [server.url]),
        await HubProcess.start(mkdtempSync(join(folder, 'h-')).concat('/b'), [server.url]),
      ] as const;
      const published: string[] = [];
      let isOn = true;
      const publishing = (async () => {
        while (isOn) {
          row += 1;
          const agent = agents[row % agents.length];
          const next = row;
          // Publishes repeatedly until the event is stored, as an agent does.
          await waitFor(async () => (await agent?.publish(next, next, 0)) === undefined);
          published.push(`${agent?.mac}~${next}`);
          await wait(PAUSE_MS);
        }
      })();
      const register = async ({ port }: HubProcess): Promise<boolean> => {
        const body = JSON.stringify({ url: receiver.url, events: ['message.received'] });
        const headers = { 'X-API-Key': KEY, 'Content-Type': 'application/json' };
        const options = { method: 'POST', headers, body };
        return (await fetch(`http://127.0.0.1:${port}/api/v1/webhooks`, options)).status === 201;
      };
      try {
        await waitFor(() => register(hubs[0]));
        const holder = (await isDelivering(hubs[0])) ? hubs[0] : hubs[1];
        const { length } = published;
        await wait(3000);
        await run(holder, server);
        await wait(3000);
        isOn = false;
        await publishing;
        const last = published.at(-1) ?? '';
        const ids = (): string[] => receiver.deliveries.map(({ event }) => event.data.id);
        await eventually(() => expect(ids()).toContain(last), 60_000);
        const first = published.indexOf(ids()[0] ?? '');
        expect(first).toBeLessThanOrEqual(length + 1);
        const expected = published.slice(first);
        const unique = [...new Set(ids())];
        const delivered = ids().length;
        console.info(`${name}: ${expected.length} events, ${delivered - unique.length} repeated`);
        expect(unique).toEqual(expected);
        expect(delivered - unique.length).toBeLessThanOrEqual(repeats);
        expect(new Set(receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(
          unique.length,
        );
      } finally {
        isOn = false;
        await publishing;
        await Promise.all(hubs.map((hub) => hub.stop()));
        await receiver.close();
      }
    },
    120_000,
  );
});

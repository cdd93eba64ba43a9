import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isLong } from '../support/conditions.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { FleetHarness, type FleetSize, noDifferences } from './fleet-harness.ts';
import { wait } from './harness.ts';

/** The long form is a cluster under the load that docs/project/guarantees.md states. */
const SIZE: FleetSize = isLong
  ? { servers: 3, macs: 20, processes: 4, rowsPerSecond: 300 }
  : { servers: 1, macs: 3, processes: 2, rowsPerSecond: 30 };
/** Milliseconds of load before and after a fault. */
const STEADY_MS = isLong ? 5000 : 500;
const PAUSE_MS = isLong ? 8000 : 5000;
const LIMIT_MS = isLong ? 400_000 : 120_000;

interface Fault {
  readonly name: string;
  readonly isShort?: true;
  readonly size?: Partial<FleetSize>;
  /** The local API is watched meanwhile, unless the fault hits it. */
  readonly hitsAgent?: true;
  readonly run: (fleet: FleetHarness) => Promise<void>;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9 of the server that leads',
    isShort: true,
    async run(fleet) {
      const leader = await fleet.leader();
      await leader.stop('SIGKILL');
      await wait(isLong ? 3000 : 500);
      await leader.launch();
    },
  },
  {
    name: 'kill -9 of all servers',
    async run({ servers }) {
      await Promise.all(servers.map((server) => server.stop('SIGKILL')));
      await wait(1500);
      await Promise.all(servers.map((server) => server.launch()));
    },
  },
  {
    name: 'all stores deleted',
    isShort: true,
    async run(fleet) {
      await Promise.all(fleet.servers.map((server) => server.deleteStore()));
      await Promise.all(fleet.servers.map((server) => server.launch()));
      await fleet.createStreams();
    },
  },
  {
    name: 'the store of the server that leads deleted',
    async run(fleet) {
      const leader = await fleet.leader();
      await leader.deleteStore();
      await leader.launch();
    },
  },
  {
    name: 'kill -9 of agents',
    isShort: true,
    hitsAgent: true,
    async run({ agents: [agent] }) {
      await agent?.stop();
      await wait(isLong ? 1500 : 300);
      await agent?.launch();
    },
  },
  {
    name: 'SIGSTOP of the server that leads',
    isShort: true,
    async run(fleet) {
      const leader = await fleet.leader();
      leader.signal('SIGSTOP');
      await wait(PAUSE_MS);
      leader.signal('SIGCONT');
    },
  },
  {
    name: 'SIGSTOP of agents',
    hitsAgent: true,
    async run({ agents: [agent] }) {
      agent?.signal('SIGSTOP');
      await wait(PAUSE_MS);
      agent?.signal('SIGCONT');
    },
  },
  {
    name: 'kill -9 of a hub',
    isShort: true,
    async run({ hubs: [hub] }) {
      await hub?.stop();
      await wait(isLong ? 1500 : 300);
      await hub?.launch();
    },
  },
  {
    name: 'SIGSTOP of a hub',
    async run({ hubs: [hub] }) {
      hub?.signal('SIGSTOP');
      await wait(PAUSE_MS);
      hub?.signal('SIGCONT');
    },
  },
  {
    name: 'the broker away for two minutes',
    async run({ servers }) {
      await Promise.all(servers.map((server) => server.stop('SIGTERM')));
      await wait(120_000);
      await Promise.all(servers.map((server) => server.launch()));
    },
  },
  {
    name: 'a network that drops everything',
    size: { servers: 1, hasProxy: true },
    async run({ proxy }) {
      proxy.cut();
      await wait(PAUSE_MS);
      proxy.restore();
    },
  },
  {
    name: 'agents started again with an old state.db',
    hitsAgent: true,
    async run({ agents: [agent] }) {
      const paths = agent?.macs.map(({ folder }) => join(folder, 'config/state.db')) ?? [];
      await agent?.stop();
      for (const path of paths)
        for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, `${path}${end}.old`);
      await agent?.launch();
      await wait(STEADY_MS);
      await agent?.stop();
      for (const path of paths) {
        for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
        for (const end of ['', '-wal'])
          if (existsSync(`${path}${end}.old`)) copyFileSync(`${path}${end}.old`, path + end);
      }
      await agent?.launch();
    },
  },
];

/** Fewer rows, because each is posted; not in the short form, because a lease takes ten seconds to end. */
const WITH_WEBHOOK: Partial<FleetSize> = { macs: 3, processes: 3, rowsPerSecond: 60, hasWebhook: true };
const CASES = isLong
  ? [
      ...FAULTS,
      ...FAULTS.filter(({ isShort }) => isShort).map((fault) => ({
        ...fault,
        name: `${fault.name}, with a webhook at 60 rows/s`,
        size: WITH_WEBHOOK,
      })),
    ]
  : FAULTS.filter(({ isShort }) => isShort);

/** Asks the local APIs continuously. Returns a function that tells how often they did not answer. */
function watchLocalApis({ agents }: FleetHarness) {
  const run = { isOn: true, asked: 0, failed: 0 };
  const ended = (async () => {
    while (run.isOn) {
      for (const agent of agents) {
        run.asked += 1;
        if (!(await agent.answers().catch(() => false))) run.failed += 1;
      }
      await wait(100);
    }
  })();
  return async () => {
    run.isOn = false;
    await ended;
    return run;
  };
}

describeWithNats(
  `a fleet of ${SIZE.macs} Macs at ${SIZE.rowsPerSecond} rows/s: nothing lost, repeated or out of order`,
  () => {
    let shared: FleetHarness | undefined;
    beforeAll(async () => {
      if (!isLong) shared = await FleetHarness.start(SIZE);
    }, LIMIT_MS);
    afterAll(() => shared?.end());

    test.each(CASES)(
      '$name',
      async ({ name, size, hitsAgent, run }) => {
        const fleet = shared ?? (await FleetHarness.start({ ...SIZE, ...size }));
        try {
          await wait(STEADY_MS);
          const stop = hitsAgent ? undefined : watchLocalApis(fleet);
          const start = performance.now();
          await run(fleet);
          await wait(STEADY_MS);
          const behindS = await fleet.caughtUp(LIMIT_MS / 2);
          const local = await stop?.();
          const found = await fleet.compare();
          if (isLong)
            console.log(name, JSON.stringify({ ...found, behindS, tookS: (performance.now() - start) / 1000, local }));
          for (const one of [found.stream, ...found.clients]) {
            expect(one).toEqual({ ...noDifferences(), events: expect.any(Number) });
          }
          // At least once, in order.
          expect({ ...found.webhook, repeated: 0 }).toEqual({ ...noDifferences(), events: expect.any(Number) });
          expect(fleet.clients.map(({ failure }) => failure)).toEqual([undefined, undefined]);
          expect(local?.failed ?? 0).toBe(0);
        } finally {
          if (fleet !== shared) await fleet.end();
        }
      },
      LIMIT_MS,
    );
  },
);

import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { isLong } from '../support/conditions.ts';
import { MAIN } from '../support/postern.ts';
import { type AgentProcess, MACS_SCRIPT } from './fleet-agents.ts';
import type { FleetHarness, FleetSize } from './fleet-harness.ts';
import type { HubProcess } from './fleet-hubs.ts';
import { wait } from './harness.ts';

/** Milliseconds of load before and after a fault. */
export const STEADY_MS = isLong ? 5000 : 500;
const PAUSE_MS = isLong ? 8000 : 5000;
/** Folder of an older, built version for the rolling upgrade. */
const OLDER = process.env.OLDER_VERSION;
/** Length of faults that need not last until a connection is given up. */
const SHORT_PAUSE_MS = isLong ? 15_000 : 2000;
const LINES: Partial<FleetSize> = { servers: 1, hasLines: true };

interface Fault {
  readonly name: string;
  readonly isShort?: true;
  readonly size?: Partial<FleetSize>;
  /** True if a client that asks hubs in turn may get events again, because a new stream has them in another order. */
  readonly mayRepeat?: true;
  /**
   * True if a cluster of nats-server 2.9.10 may lose some events that it has acknowledged (seen: 16, 0 and 1; compare
   * issue 3402 of nats-server). The hubs read these events from their Macs, so that clients still lose nothing.
   */
  readonly clusterMayLose?: true;
  /** True if the fault hits the local API, which is otherwise watched meanwhile. */
  readonly hitsAgent?: true;
  readonly run: (fleet: FleetHarness) => Promise<void>;
}

export const FAULTS: readonly Fault[] = [
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
    mayRepeat: true,
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
    clusterMayLose: true,
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
    size: LINES,
    async run(fleet) {
      const lines = fleet.agents.map((_agent, index) => fleet.agentLine(index));
      for (const line of lines) line.cut();
      await wait(PAUSE_MS);
      for (const line of lines) line.restore();
    },
  },
  {
    name: 'agents started again with an old state.db',
    hitsAgent: true,
    async run({ agents: [agent] }) {
      const paths = agent?.macs.map(({ folder }) => join(folder, 'config/state.db')) ?? [];
      await agent?.stop();
      for (const path of paths) {
        for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, `${path}${end}.old`);
      }
      await agent?.launch();
      await wait(STEADY_MS);
      await agent?.stop();
      for (const path of paths) {
        for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
        for (const end of ['', '-wal']) {
          if (existsSync(`${path}${end}.old`)) copyFileSync(`${path}${end}.old`, path + end);
        }
      }
      await agent?.launch();
    },
  },
  {
    name: 'SIGSTOP of both hubs and of agents at once',
    isShort: true,
    hitsAgent: true,
    run: ({ hubs, agents: [agent] }) => stopped([...hubs, agent]),
  },
  {
    name: 'SIGSTOP of both hubs',
    run: ({ hubs }) => stopped(hubs),
  },
  {
    name: 'kill -9 of both hubs at once',
    isShort: true,
    async run({ hubs }) {
      await Promise.all(hubs.map((hub) => hub.stop()));
      await wait(isLong ? 1500 : 300);
      await Promise.all(hubs.map((hub) => hub.launch()));
    },
  },
  ...(['to the broker', 'from the broker', 'both ways'] as const).map(
    (way): Fault => ({
      name: `the line of a hub cut, ${way}`,
      ...(way !== 'both ways' && { isShort: true }),
      size: LINES,
      async run(fleet) {
        fleet.hubLine(0).cut(way);
        await wait(SHORT_PAUSE_MS);
        fleet.hubLine(0).restore();
      },
    }),
  ),
  {
    name: 'the lines of both hubs cut',
    isShort: true,
    size: LINES,
    async run(fleet) {
      const lines = fleet.hubs.map((_hub, index) => fleet.hubLine(index));
      for (const line of lines) line.cut();
      await wait(SHORT_PAUSE_MS);
      for (const line of lines) line.restore();
    },
  },
  {
    name: 'the lines of Macs and of a hub, on and off each second',
    isShort: true,
    size: LINES,
    async run(fleet) {
      const lines = [fleet.agentLine(0), fleet.hubLine(1)];
      for (let turn = 0; turn < (isLong ? 15 : 3); turn += 1) {
        for (const line of lines) line.cut();
        await wait(1000);
        for (const line of lines) line.restore();
        await wait(1000);
      }
    },
  },
  {
    name: "the broker's storage full, then room",
    isShort: true,
    size: { servers: 1 },
    async run(fleet) {
      await fleet.fillStore();
      await wait(isLong ? 5000 : 1000);
      const answers = await Promise.all(fleet.hubs.map((hub) => hub.send('m0')));
      await fleet.makeRoom();
      expect(answers).toEqual([
        [503, 'broker_full'],
        [503, 'broker_full'],
      ]);
    },
  },
  {
    name: 'a clock that jumps an hour forward and back, at a hub and at Macs',
    isShort: true,
    async run({ hubs: [hub], agents: [agent] }) {
      for (const one of [hub, agent, hub, agent]) {
        one?.signal('SIGUSR2');
        await wait(isLong ? 4000 : 700);
      }
    },
  },
  ...(OLDER === undefined
    ? []
    : [
        {
          name: 'a rolling upgrade, hub by hub and process by process',
          size: { servers: 1, older: OLDER },
          hitsAgent: true,
          async run({ hubs, agents }) {
            for (const [index, agent] of agents.entries()) {
              await replaced(hubs[index], MAIN);
              await replaced(agent, MACS_SCRIPT);
            }
          },
        } as const satisfies Fault,
      ]),
];

/** Stops processes for a while. */
async function stopped(processes: readonly ({ signal(name: NodeJS.Signals): void } | undefined)[]): Promise<void> {
  for (const one of processes) one?.signal('SIGSTOP');
  await wait(SHORT_PAUSE_MS);
  for (const one of processes) one?.signal('SIGCONT');
}

/** Restarts a process with another version, under load before and after that. */
async function replaced(one: HubProcess | AgentProcess | undefined, program: string): Promise<void> {
  if (one === undefined) return;
  await wait(STEADY_MS);
  await one.stop();
  one.program = program;
  await one.launch();
}

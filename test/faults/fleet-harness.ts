import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager, StorageType } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { EVENTS, eventSubject } from '../../src/features/fleet/protocol/layout.ts';
import { createFleet, createMac, DEFAULT_SIZE } from '../../src/features/fleet/protocol/streams.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { isLong } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { streamOf } from '../support/fleet-mac.ts';
import { NatsServer } from '../support/nats-server.ts';
import { freePort } from '../support/service.ts';
import { whenFileEnds } from '../support/temporary.ts';
import { DroppingLine } from './dropping-line.ts';
import { AgentProcess, type Mac, yieldToHubs } from './fleet-agents.ts';
import { type FleetClient, ListeningClient, PollingClient, WebhookReceiver } from './fleet-clients.ts';
import { addDifferences, type FleetDifferences, noDifferences } from './fleet-differences.ts';
import { Balancer, HubProcess } from './fleet-hubs.ts';
import { Writer } from './harness.ts';

/** A connection made before the broker came back may be unusable. */
const A_CONNECTION_MS = 2000;
const BALLAST = 'ballast';
const HUBS = ['hub-0', 'hub-1'];
/** Maximum number of bytes that each server stores. */
const STORE_BYTES = (isLong ? 192 : 64) * 1024 ** 2;

export interface FleetSize {
  /** 1, or 3 as a cluster. */
  readonly servers: 1 | 3;
  readonly macs: number;
  /** Number of processes that share the Macs. */
  readonly processes: number;
  readonly rowsPerSecond: number;
  /** Each process of Macs and each hub reaches the broker through its own line. Not with a cluster. */
  readonly hasLines?: boolean;
  /** Folder of an older, built version with which everything starts. Default: this version. */
  readonly older?: string | undefined;
  /** A webhook at the hubs receives every event. */
  readonly hasWebhook?: boolean;
}

/** NATS servers, Macs in separate processes, and a writer of rows. `end` removes all of it. */
export class FleetHarness {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-fleet-'));
  readonly servers: readonly NatsServer[];
  readonly agents: readonly AgentProcess[];
  readonly databases: ReadonlyMap<string, ChatFixture>;
  readonly #replicas: number;
  readonly #lines: readonly DroppingLine[];
  readonly #writer: Writer;
  readonly hubs: HubProcess[] = [];
  /** The clients: one listens at the first hub, one at whichever hub accepts it, and one asks both hubs in turn. */
  readonly clients: FleetClient[] = [];
  #balancer: Balancer | undefined;
  #webhook: WebhookReceiver | undefined;
  #isEnded = false;

  private constructor(servers: readonly NatsServer[], lines: readonly DroppingLine[], size: FleetSize) {
    this.servers = servers;
    this.#lines = lines;
    this.#replicas = size.servers;
    const macs = Array.from({ length: size.macs }, (_, index): Mac => {
      const folder = join(this.folder, `mac-${index}`);
      mkdirSync(folder);
      return { id: `m${index}`, folder, chatDbPath: join(folder, 'chat.db') };
    });
    this.databases = new Map(
      macs.map(({ id, chatDbPath }) => {
        const database = new ChatFixture(chatDbPath);
        database.chat('any;-;+15550100', ['+15550100']);
        return [id, database];
      }),
    );
    this.agents = Array.from(
      { length: size.processes },
      (_, index) =>
        new AgentProcess(
          macs.filter((_mac, place) => place % size.processes === index),
          this.#urls(HUBS.length + index),
          size.older && join(size.older, 'test/faults/fleet-macs.mjs'),
        ),
    );
    this.#writer = new Writer(
      macs.map(({ chatDbPath }) => chatDbPath),
      size.rowsPerSecond,
    );
    yieldToHubs(this.#writer);
  }

  static async start(size: FleetSize): Promise<FleetHarness> {
    const servers = size.servers === 1 ? [await NatsServer.start('', 'server', STORE_BYTES)] : await startCluster();
    const lines: DroppingLine[] = [];
    if (size.hasLines === true) {
      for (let line = 0; line < HUBS.length + size.processes; line += 1) {
        lines.push(await DroppingLine.start(servers[0]?.port ?? 0));
      }
    }
    const fleet = new FleetHarness(servers, lines, size);
    whenFileEnds(() => fleet.end());
    await fleet.createStreams();
    // Starts the hubs before the first event, so that clients and the webhook receive all events.
    await fleet.#startHubs(size);
    for (const agent of fleet.agents) await agent.launch();
    return fleet;
  }

  async #startHubs({ older, hasWebhook }: FleetSize): Promise<void> {
    const program = older && join(older, 'dist/main.js');
    for (const [index, name] of HUBS.entries()) {
      this.hubs.push(await HubProcess.start(join(this.folder, name), this.#urls(index), program));
    }
    const ports = this.hubs.map(({ port }) => port);
    this.#balancer = await Balancer.start(ports);
    for (const port of [ports[0] ?? 0, this.#balancer.port]) this.clients.push(new ListeningClient(port));
    // A hub from before the first release refuses the offsets of a newer one.
    this.clients.push(new PollingClient(ports, older === undefined ? [] : [400]));
    const [hub] = this.hubs;
    if (hasWebhook === true && hub !== undefined) this.#webhook = await WebhookReceiver.start(hub);
  }

  /**
   * Returns the broker's address through a line, or all addresses without lines. The hubs' lines come first, then those
   * of the Macs' processes.
   */
  #urls(line: number): readonly string[] {
    const url = this.#lines[line]?.url;
    return url === undefined ? this.servers.map((server) => server.url) : [url];
  }

  /** Returns the line of a hub; throws if the fleet has none. */
  hubLine(index: number): DroppingLine {
    return this.#line(index);
  }

  /** Returns the line of a process of Macs; throws if the fleet has none. */
  agentLine(index: number): DroppingLine {
    return this.#line(HUBS.length + index);
  }

  #line(index: number): DroppingLine {
    const line = this.#lines[index];
    if (line === undefined) throw new Error('this fleet has no lines');
    return line;
  }

  /** Fills the broker's store, until `makeRoom`. */
  async fillStore(): Promise<void> {
    await this.withBroker(async (nc) => {
      const jsm = await jetstreamManager(nc);
      await jsm.streams.add({ name: BALLAST, subjects: [BALLAST], storage: StorageType.File });
      for (const bytes of [900_000, 50_000, 1000, 1]) {
        const isRefused = (): Promise<boolean> =>
          jsm
            .jetstream()
            .publish(BALLAST, 'x'.repeat(bytes))
            .then(
              () => false,
              () => true,
            );
        while (!(await isRefused()));
      }
    });
  }

  async makeRoom(): Promise<void> {
    await this.withBroker(async (nc) => (await jetstreamManager(nc)).streams.delete(BALLAST));
  }

  /** Does what `postern fleet init` and `add` do, also after all stores were deleted. */
  async createStreams(): Promise<void> {
    await this.withBroker(async (nc) => {
      const jsm = await waitFor(() => jetstreamManager(nc));
      await waitFor(async () => {
        await createFleet(jsm, { ...DEFAULT_SIZE, replicas: this.#replicas });
        for (const id of this.databases.keys()) await createMac(jsm, id);
        return true;
      });
    });
  }

  async withBroker<Value>(run: (nc: NatsConnection) => Promise<Value>): Promise<Value> {
    const nc = await waitFor(() => connect({ servers: this.servers.map(({ url }) => url), timeout: 2000 }));
    try {
      return await run(nc);
    } finally {
      await nc.close();
    }
  }

  /** Returns the server that leads the stream of events. */
  async leader(): Promise<NatsServer> {
    const [only] = this.servers;
    if (this.servers.length === 1 && only !== undefined) return only;
    const name = await this.withBroker(async (nc) => {
      const jsm = await jetstreamManager(nc);
      return waitFor(async () => (await jsm.streams.info(EVENTS.stream)).cluster?.leader);
    });
    const found = this.servers.find((server) => server.name === name);
    if (found === undefined) throw new Error(`no server is called ${name}`);
    return found;
  }

  newestRow(id: string): number {
    return Number(this.#sqlite(id).prepare('SELECT ifnull(max(ROWID), 0) FROM message').get()?.[0]);
  }

  /**
   * Waits until the stream and all clients have everything that is in the databases now. Returns the seconds that this
   * took.
   */
  async caughtUp(withinMs = 60_000): Promise<number> {
    const start = performance.now();
    const written = [...this.databases.keys()].map((id) => [id, this.newestRow(id)] as const);
    for (const [id, newest] of written) {
      await waitFor(
        () =>
          this.withBroker(async (nc) => {
            const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 2000 });
            await waitFor(async () => {
              const last = await jsm.direct.getMessage(EVENTS.stream, { last_by_subj: eventSubject(id) });
              return Number(last?.header.get('Row') ?? 0) >= newest;
            }, A_CONNECTION_MS);
            return true;
          }),
        withinMs,
      );
    }
    await waitFor(() => {
      if (this.clients.some(({ failure }) => failure !== undefined)) return true;
      const all = [...this.clients, this.#webhook].filter((one) => one !== undefined);
      return written.every(([id, newest]) => all.every(({ arrivals }) => arrivals.newest(id) >= newest));
    }, withinMs);
    return (performance.now() - start) / 1000;
  }

  /** Compares the stream, and what the hubs' clients received, with the databases of all Macs. */
  async compare(): Promise<FleetDifferences> {
    const stream = noDifferences();
    const webhook = noDifferences();
    const clients = this.clients.map(noDifferences);
    await this.withBroker(async (nc) => {
      for (const [id, { sqlite }] of this.databases) {
        const inStream = (await streamOf(nc, id)).map(({ row }) => row);
        const arrived = this.clients.map(({ arrivals }) => [...(arrivals.rows.get(id) ?? [])]);
        const posted = [...(this.#webhook?.arrivals.rows.get(id) ?? [])];
        // Read last, so that it includes every row that arrived.
        const written = sqlite.prepare('SELECT ROWID FROM message ORDER BY ROWID').all();
        const rows = written.map(([row]) => Number(row));
        addDifferences(stream, rows, inStream);
        addDifferences(webhook, rows, posted);
        for (const [index, found] of clients.entries()) addDifferences(found, rows, arrived[index] ?? []);
      }
    });
    const polling = clients.pop() ?? noDifferences();
    return { stream, clients, polling, webhook };
  }

  async end(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    await this.#writer.kill();
    await Promise.all(this.clients.map((client) => client.close()));
    await this.#balancer?.close();
    await this.#webhook?.close();
    for (const one of [...this.hubs, ...this.agents]) await one.stop();
    for (const line of this.#lines) await line.close();
    for (const server of this.servers) await server.dispose();
    for (const database of this.databases.values()) database.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #sqlite(id: string) {
    const database = this.databases.get(id);
    if (database === undefined) throw new Error(`there is no Mac ${id}`);
    return database.sqlite;
  }
}

async function startCluster(): Promise<readonly NatsServer[]> {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(', ');
  return Promise.all(
    ports.map((port, index) =>
      NatsServer.start(`cluster { name: fleet, listen: "127.0.0.1:${port}", routes: [${routes}] }`, `server-${index}`),
    ),
  );
}

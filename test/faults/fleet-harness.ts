import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { EVENTS, eventSubject } from '../../src/fleet/protocol/layout.ts';
import { createFleet, createMac, DEFAULT_SIZE } from '../../src/fleet/protocol/streams.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { waitFor } from '../support/eventually.ts';
import { streamOf } from '../support/fleet-mac.ts';
import { NatsServer } from '../support/nats-server.ts';
import { freePort } from '../support/service.ts';
import { whenFileEnds } from '../support/temporary.ts';
import { Balancer, HubClient, HubProcess, WebhookReceiver } from './fleet-hubs.ts';
import { compare, Writer } from './harness.ts';

/** A connection made before the broker came back may be unusable. */
const A_CONNECTION_MS = 2000;
const MACS_SCRIPT = fileURLToPath(new URL('fleet-macs.mjs', import.meta.url));

export interface FleetSize {
  /** 1, or 3 as a cluster. */
  readonly servers: 1 | 3;
  readonly macs: number;
  /** Number of processes that share the Macs. */
  readonly processes: number;
  readonly rowsPerSecond: number;
  /** The Macs reach the broker through a proxy that can be cut. */
  readonly hasProxy?: boolean;
  /** A webhook at the hubs receives every event. */
  readonly hasWebhook?: boolean;
}

interface Mac {
  readonly id: string;
  readonly folder: string;
  readonly chatDbPath: string;
}

/** NATS servers, Macs in separate processes, and a writer of rows. `end` removes all of it. */
export class FleetHarness {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-fleet-'));
  readonly servers: readonly NatsServer[];
  readonly agents: readonly AgentProcess[];
  readonly databases: ReadonlyMap<string, ChatFixture>;
  readonly #replicas: number;
  readonly #proxy: DroppingProxy | undefined;
  readonly #writer: Writer;
  readonly hubs: HubProcess[] = [];
  /** One client at the first hub, and one at whichever hub takes it. */
  readonly clients: HubClient[] = [];
  #balancer: Balancer | undefined;
  #webhook: WebhookReceiver | undefined;
  #isEnded = false;

  private constructor(servers: readonly NatsServer[], proxy: DroppingProxy | undefined, size: FleetSize) {
    this.servers = servers;
    this.#proxy = proxy;
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
    const urls = proxy === undefined ? servers.map(({ url }) => url) : [proxy.url];
    this.agents = Array.from(
      { length: size.processes },
      (_, index) =>
        new AgentProcess(
          macs.filter((_mac, place) => place % size.processes === index),
          urls,
        ),
    );
    this.#writer = new Writer(
      macs.map(({ chatDbPath }) => chatDbPath),
      size.rowsPerSecond,
    );
  }

  static async start(size: FleetSize): Promise<FleetHarness> {
    const servers = size.servers === 1 ? [await NatsServer.start()] : await startCluster();
    const proxy = size.hasProxy === true ? await DroppingProxy.start(servers[0]?.port ?? 0) : undefined;
    const fleet = new FleetHarness(servers, proxy, size);
    whenFileEnds(() => fleet.end());
    await fleet.createStreams();
    // Before the first event, so that clients and the webhook receive all of them.
    await fleet.#startHubs(size.hasWebhook === true);
    for (const agent of fleet.agents) await agent.launch();
    return fleet;
  }

  async #startHubs(hasWebhook: boolean): Promise<void> {
    const urls = this.servers.map(({ url }) => url);
    for (const name of ['hub-0', 'hub-1']) this.hubs.push(await HubProcess.start(join(this.folder, name), urls));
    const ports = this.hubs.map(({ port }) => port);
    this.#balancer = await Balancer.start(ports);
    for (const port of [ports[0] ?? 0, this.#balancer.port]) this.clients.push(new HubClient(port));
    const [hub] = this.hubs;
    if (hasWebhook && hub !== undefined) this.#webhook = await WebhookReceiver.start(hub);
  }

  get proxy(): DroppingProxy {
    if (this.#proxy === undefined) throw new Error('this fleet has no proxy');
    return this.#proxy;
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

  /** Waits until the stream has everything that is in the databases now. Returns the seconds that took. */
  async caughtUp(withinMs = 60_000): Promise<number> {
    const start = performance.now();
    for (const id of this.databases.keys()) {
      const newest = this.newestRow(id);
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
      await waitFor(() => {
        if (this.clients.some(({ failure }) => failure !== undefined)) return true;
        return [...this.clients, this.#webhook].every((one) => one === undefined || one.arrivals.newest(id) >= newest);
      }, withinMs);
    }
    return (performance.now() - start) / 1000;
  }

  /** Compares the stream, and what the hubs' clients received, with the databases of all Macs. */
  async compare(): Promise<{ stream: Differences; clients: readonly Differences[]; webhook: Differences }> {
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
        add(stream, rows, inStream);
        add(webhook, rows, posted);
        for (const [index, found] of clients.entries()) add(found, rows, arrived[index] ?? []);
      }
    });
    return { stream, clients, webhook };
  }

  async end(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    await this.#writer.kill();
    await Promise.all(this.clients.map((client) => client.close()));
    await this.#balancer?.close();
    await this.#webhook?.close();
    for (const one of [...this.hubs, ...this.agents]) await one.stop();
    await this.#proxy?.close();
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

interface Differences {
  events: number;
  lost: number;
  repeated: number;
  outOfOrder: number;
  unknown: number;
}

export function noDifferences(): Differences {
  return { events: 0, lost: 0, repeated: 0, outOfOrder: 0, unknown: 0 };
}

/** Compares up to the newest row that arrived: later rows may still be on their way. */
function add(sum: Differences, written: readonly number[], arrived: readonly number[]): void {
  const newest = arrived.at(-1) ?? 0;
  const { lost, repeats, outOfOrder, unknown } = compare(
    written.filter((row) => row <= newest),
    arrived,
  );
  sum.events += arrived.length;
  sum.lost += lost.length;
  sum.repeated += repeats;
  sum.outOfOrder += outOfOrder;
  sum.unknown += unknown.length;
}

/** The services of some of the Macs, in one process. */
export class AgentProcess {
  readonly macs: readonly Mac[];
  readonly #servers: readonly string[];
  #child: ChildProcess | undefined;
  /** Address of each Mac's API. */
  urls: Readonly<Record<string, string>> = {};

  constructor(macs: readonly Mac[], servers: readonly string[]) {
    this.macs = macs;
    this.#servers = servers;
  }

  async launch(): Promise<void> {
    const settings = JSON.stringify({ macs: this.macs, servers: this.#servers });
    const child = spawn(process.execPath, [MACS_SCRIPT, settings], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    let text = '';
    child.stdout?.on('data', (chunk) => (text += String(chunk)));
    await waitFor(() => {
      if (child.exitCode !== null) throw new Error(`the agents ended with ${child.exitCode}`);
      return text.endsWith('\n');
    });
    this.urls = JSON.parse(text) as Record<string, string>;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Reports whether the local API of every Mac answers with its newest message. */
  async answers(): Promise<boolean> {
    const answers = await Promise.all(
      Object.values(this.urls).map((url) =>
        fetch(`${url}/api/v1/messages?limit=1`, { headers: { 'x-api-key': 'a-key-for-all-the-tests' } }),
      ),
    );
    return answers.every(({ ok }) => ok);
  }
}

export type CutLine = 'both ways' | 'to the broker' | 'from the broker';

/** A proxy that can stop forwarding without closing connections, like a network that drops packets. */
export class DroppingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut: CutLine | undefined;
  url = '';

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const target = connectTcp(port, '127.0.0.1');
      for (const [from, to, way] of [
        [client, target, 'to the broker'],
        [target, client, 'from the broker'],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.on('data', (chunk) => {
          if (this.#cut !== way && this.#cut !== 'both ways') to.write(chunk);
        });
      }
    });
  }

  static async start(port: number): Promise<DroppingProxy> {
    const proxy = new DroppingProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    const address = proxy.#server.address();
    proxy.url = `nats://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    return proxy;
  }

  /** Drops every byte from now on. */
  cut(way: CutLine = 'both ways'): void {
    this.#cut = way;
  }

  /** Forwards again. Dropped bytes stay lost, so existing connections are unusable. */
  restore(): void {
    this.#cut = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
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

import { randomUUID } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JetStreamManager } from '@nats-io/jetstream';
import { openEvent } from '../../src/features/fleet/protocol/event.ts';
import {
  envelopeOf,
  type Membership,
  membershipLine,
  parseMembership,
} from '../../src/features/fleet/protocol/membership.ts';
import { EVENTS, unlessMissing } from '../../src/features/fleet/protocol/subjects.ts';
import { serverAddress } from '../../src/features/fleet/setup/addresses.ts';
import { connectOperator, managerOf } from '../../src/features/fleet/setup/connections.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { serverFiles } from '../../src/features/fleet/setup/server-config.ts';
import { createFleet } from '../../src/features/fleet/setup/streams.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { delayedLink } from '../support/delayed-link.ts';
import { waitFor } from '../support/eventually.ts';
import { FleetServer } from '../support/fleet-server.ts';
import { freePort, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const NO_PROGRAM = () => Promise.reject(new Error('No program is needed.'));

/** A row that was written into the chat.db of every machine of a member. */
export interface WrittenRow {
  readonly guid: string;
  readonly text: string;
  readonly member: string;
  readonly atMs: number;
}

export interface Machine {
  readonly member: string;
  readonly name: string;
  readonly database: ChatFixture;
  service: Service | undefined;
}

/** The processes of a whole fleet: servers with the rights that `postern fleet` writes, Macs and two hubs. */
export class FleetWorld {
  readonly folder: FleetFolder;
  readonly servers: readonly FleetServer[];
  readonly machines: Machine[] = [];
  readonly hubs: Service[] = [];
  readonly written: WrittenRow[] = [];
  /** The addresses at which Macs and hubs reach the servers. */
  readonly #addresses: readonly string[];

  private constructor(folder: FleetFolder, servers: readonly FleetServer[], addresses: readonly string[]) {
    this.folder = folder;
    this.servers = servers;
    this.#addresses = addresses;
  }

  static async start(
    count: 1 | 3,
    machines: readonly (readonly [member: string, name: string])[],
    delayMs = 0,
  ): Promise<FleetWorld> {
    const servers = await Promise.all(
      Array.from({ length: count }, async () => {
        const address = serverAddress(`127.0.0.1:${await freePort()}`);
        if (address === undefined) throw new Error('unreachable');
        return address;
      }),
    );
    const plan = { servers, serverVersion: '2.9', keepHours: 168 };
    const folder = await FleetFolder.create(join(temporaryFolder(), 'fleet'), plan, NO_PROGRAM);
    for (const [member] of machines) folder.addMac(member);
    const configs = servers.map((_, index) => serverFiles(index, count).config);
    const far = async (port: number) => (delayMs === 0 ? port : await delayedLink(port, delayMs));
    const addresses = await Promise.all(servers.map(async ({ port }) => `nats://127.0.0.1:${await far(port)}`));
    for (const config of configs) {
      const path = join(folder.path, 'server', config);
      const [first = '', ...routes] = readFileSync(path, 'utf8').split(/(?<=@127\.0\.0\.1:)(?=\d+")/);
      const moved = routes.map(async (text) => text.replace(/^\d+/, String(await far(Number.parseInt(text, 10)))));
      writeFileSync(path, [first, ...(await Promise.all(moved))].join(''));
    }
    const world = new FleetWorld(
      folder,
      configs.map((config) => new FleetServer(folder.path, config)),
      addresses,
    );
    await Promise.all(world.servers.map((server) => server.start()));
    await world.createStreams();
    await Promise.all(machines.map(([member, name]) => world.#addMachine(member, name)));
    await Promise.all([world.#addHub(), world.#addHub()]);
    await Promise.all(world.hubs.map((hub) => waitFor(async () => (await fetch(new URL('/ready', hub.url))).ok)));
    return world;
  }

  /** Makes what `postern fleet init --connect` makes, once the servers have a leader. */
  async createStreams(): Promise<void> {
    await waitFor(async () => {
      await this.ask((jsm) => createFleet(jsm, this.folder.size));
      return true;
    });
  }

  async ask<Answer>(question: (jsm: JetStreamManager) => Promise<Answer>): Promise<Answer> {
    const connection = await waitFor(() => connectOperator(this.folder, 'operator'));
    try {
      return await question(await managerOf(connection));
    } finally {
      await connection.close();
    }
  }

  /** Writes one message into the chat.db of each machine of the member, with the same guid. */
  write(member: string, { only, atMs = Date.now() }: { only?: string; atMs?: number } = {}): WrittenRow {
    const row = { guid: randomUUID().toUpperCase(), text: `row ${this.written.length}`, member, atMs };
    this.written.push(row);
    for (const machine of this.machines) {
      if (machine.member === member && (only === undefined || machine.name === only)) this.copy(row, machine);
    }
    return row;
  }

  copy({ guid, text, atMs }: WrittenRow, { database }: Machine): void {
    database.message({ chat: 1, handle_id: 1, text, guid, date: appleDate(atMs) });
  }

  machine(name: string): Machine & { readonly service: Service } {
    const found = this.machines.find((machine) => machine.name === name);
    if (found?.service === undefined) throw new Error(`there is no machine ${name}`);
    return { ...found, service: found.service };
  }

  hub(index: number): Service {
    const hub = this.hubs[index];
    if (hub === undefined) throw new Error('there is no such hub');
    return hub;
  }

  /** Returns the server that leads the stream of events; with one server, that one. */
  async leader(): Promise<FleetServer> {
    const leader = await this.ask(async (jsm) => (await jsm.streams.info(EVENTS)).cluster?.leader);
    const index = Math.max(0, Number(leader?.replace('postern-', '') ?? 1) - 1);
    const server = this.servers[index];
    if (server === undefined) throw new Error(`there is no server ${String(leader)}`);
    return server;
  }

  /** Returns the guids of the stream's events, in its order. */
  async stream(): Promise<readonly string[]> {
    const envelope = envelopeOf(this.folder.hub);
    return this.ask(async (jsm) => {
      const { state } = await jsm.streams.info(EVENTS);
      if (state.messages === 0) return [];
      const consumer = await jsm.jetstream().consumers.get(EVENTS);
      const guids: string[] = [];
      for await (const { subject, data } of await consumer.fetch({ max_messages: state.messages, expires: 10_000 })) {
        guids.push(String(openEvent(envelope, subject, data).event.data.guid));
        if (guids.length === state.messages) break;
      }
      return guids;
    });
  }

  /**
   * Returns at how many places after `from` the servers' copies of the stream differ, which each tells while it leads.
   */
  async differences(from: number): Promise<number> {
    const copies = new Map<string, ReadonlyMap<number, string>>();
    for (let turn = 0; turn < 12 && copies.size < this.servers.length; turn += 1) {
      await waitFor(() => this.ask((jsm) => this.#copyOfLeader(jsm, from, copies)).catch(() => undefined));
      const connection = await waitFor(() => connectOperator(this.folder, 'operator'));
      await connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${EVENTS}`).catch(() => undefined);
      await connection.close();
    }
    const [one, ...others] = [...copies.values()];
    // What came in while they were read is in the later copies alone.
    const last = Math.min(...[...copies.values()].map((copy) => Math.max(...copy.keys(), 0)));
    const places = Array.from({ length: Math.max(0, last - from) }, (_, index) => from + 1 + index);
    return places.filter((seq) => others.some((other) => other.get(seq) !== one?.get(seq))).length;
  }

  async #copyOfLeader(jsm: JetStreamManager, from: number, copies: Map<string, ReadonlyMap<number, string>>) {
    const { state, cluster } = await jsm.streams.info(EVENTS);
    const leader = cluster?.leader;
    if (leader === undefined) return undefined;
    const copy = new Map<number, string>();
    let next = from;
    const read = async (): Promise<void> => {
      while (next < state.last_seq) {
        next += 1;
        const seq = next;
        const found = await unlessMissing(() => jsm.streams.getMessage(EVENTS, { seq }));
        if (found !== undefined) copy.set(seq, found.subject);
      }
    };
    await Promise.all(Array.from({ length: 32 }, read));
    copies.set(leader, copy);
    return true;
  }

  /** Returns a copy of what the first server stores, which is stopped for it as for a backup. */
  async backUp(): Promise<string> {
    const [server] = this.servers;
    if (server === undefined) throw new Error('there is no server');
    await server.stop();
    const copy = join(temporaryFolder(), 'copy');
    cpSync(server.storeFolder, copy, { recursive: true });
    await server.start();
    return copy;
  }

  /** Returns the folder of the stream of events in the first server's store, relative to that. */
  streamFolder(): string {
    const store = this.servers[0]?.storeFolder ?? '';
    const found = readdirSync(store, { recursive: true }).find((path) => String(path).endsWith(`streams/${EVENTS}`));
    if (found === undefined) throw new Error('the store has no stream of events');
    return String(found);
  }

  /** Puts back a copy of the store, or only a part of it: a path inside. */
  async restore(copy: string, part = ''): Promise<void> {
    const [server] = this.servers;
    if (server === undefined) throw new Error('there is no server');
    await server.stop();
    rmSync(join(server.storeFolder, part), { recursive: true, force: true });
    cpSync(join(copy, part), join(server.storeFolder, part), { recursive: true });
    await server.start();
  }

  async end(): Promise<void> {
    const services = [...this.hubs, ...this.machines.flatMap(({ service }) => service ?? [])];
    await Promise.all(services.map((service) => service.dispose()));
    for (const { database } of this.machines) database.close();
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  async #addMachine(member: string, name: string): Promise<void> {
    const folder = temporaryFolder();
    const chatDbPath = join(folder, 'chat.db');
    const database = new ChatFixture(chatDbPath);
    database.chat('any;-;+15550100', ['+15550100']);
    const machine: Machine = { member, name, database, service: undefined };
    this.machines.push(machine);
    const file = this.#lineFile(folder, parseMembership(this.folder.addMac(member)));
    machine.service = await Service.start({ chatDbPath, settings: { fleet: { file, machine: name } } });
  }

  async #addHub(): Promise<void> {
    const folder = temporaryFolder();
    const settings = { fleet: { file: this.#lineFile(folder, this.folder.hub) } };
    this.hubs.push(await Service.start({ chatDbPath: join(folder, 'none'), command: 'hub', settings }));
  }

  #lineFile(folder: string, membership: Membership): string {
    const file = join(folder, 'member.line');
    writeFileSync(file, membershipLine({ ...membership, servers: this.#addresses }), { mode: 0o600 });
    return file;
  }
}

/** Pauses a process, as a machine does that sleeps. */
export function pause({ pid }: { readonly pid: number }): void {
  process.kill(pid, 'SIGSTOP');
}

export function resume({ pid }: { readonly pid: number }): void {
  process.kill(pid, 'SIGCONT');
}

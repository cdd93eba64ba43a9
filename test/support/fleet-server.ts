import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import type { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import { type FleetEvent, openEvent } from '../../src/features/fleet/protocol/event.ts';
import { envelopeOf } from '../../src/features/fleet/protocol/membership.ts';
import { EVENTS, eventsOf, hubName } from '../../src/features/fleet/protocol/subjects.ts';
import { serverAddress } from '../../src/features/fleet/setup/addresses.ts';
import { connectOperator, managerOf } from '../../src/features/fleet/setup/connections.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { createFleet } from '../../src/features/fleet/setup/streams.ts';
import { waitFor } from './eventually.ts';
import { FleetMac } from './fleet-mac.ts';
import { collectingLog } from './log.ts';
import { freePort } from './service.ts';
import { temporaryFolder, whenFileEnds } from './temporary.ts';

const PROGRAM = process.env.NATS_SERVER ?? 'nats-server';

/** Declares tests with a real nats-server. Without one they are skipped, with the reason in their names. */
export function describeWithNats(name: string, run: () => void): void {
  try {
    execFileSync(PROGRAM, ['--version'], { stdio: 'ignore' });
    describe(name, run);
  } catch {
    describe.skip(`${name} (skipped: needs nats-server)`, run);
  }
}

/** A real nats-server with the configuration that `postern fleet` wrote. */
export class FleetServer {
  readonly #folder: string;
  readonly #config: string;
  #child: ChildProcess | undefined;

  constructor(fleetFolder: string, config = 'nats-server.conf') {
    this.#folder = join(fleetFolder, 'server');
    this.#config = config;
    whenFileEnds(() => this.#child?.kill('SIGKILL'));
  }

  get storeFolder(): string {
    return join(this.#folder, this.#config.replace('nats-server', 'data').replace('.conf', ''));
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async start(): Promise<void> {
    const child = spawn(PROGRAM, ['-c', this.#config], { cwd: this.#folder, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    let output = '';
    child.stderr.on('data', (chunk) => (output += String(chunk)));
    await waitFor(() => {
      if (child.exitCode !== null) throw new Error(`nats-server ended with ${child.exitCode}: ${output}`);
      return output.includes('Server is ready');
    });
  }

  /** Restarts it with this much room for everything that it stores. */
  async limitStore(bytes: number): Promise<void> {
    await this.stop();
    const file = join(this.#folder, this.#config);
    const text = readFileSync(file, 'utf8').replace(/\n {2}max_file_store: \d+/, '');
    writeFileSync(file, text.replace('jetstream {', `jetstream {\n  max_file_store: ${bytes}`));
    await this.start();
  }

  /** Reads the users again, as an operator makes it do after `postern fleet revoke`. */
  reload(): void {
    this.#child?.kill('SIGHUP');
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

  async deleteStore(): Promise<void> {
    await this.stop();
    rmSync(this.storeFolder, { recursive: true, force: true });
  }
}

/** A fleet whose server runs on this machine. */
export class TestFleet {
  readonly folder: FleetFolder;
  readonly server: FleetServer;
  readonly envelope: Envelope;
  readonly #open: (() => unknown)[] = [];

  private constructor(folder: FleetFolder) {
    this.folder = folder;
    this.server = new FleetServer(folder.path);
    this.envelope = envelopeOf(folder.hub);
  }

  static async start(macs: readonly string[]): Promise<TestFleet> {
    const address = serverAddress(`127.0.0.1:${await freePort()}`);
    if (address === undefined) throw new Error('unreachable');
    const plan = { servers: [address], serverVersion: '2.9', keepHours: 168 };
    const noProgram = () => Promise.reject(new Error('No program is needed.'));
    const folder = await FleetFolder.create(join(temporaryFolder(), 'fleet'), plan, noProgram);
    for (const mac of macs) folder.addMac(mac);
    const fleet = new TestFleet(folder);
    await fleet.server.start();
    await fleet.createStreams();
    return fleet;
  }

  /** Makes what `postern fleet init --connect` makes. */
  async createStreams(keepHours = 168): Promise<void> {
    const connection = await connectOperator(this.folder, 'operator');
    await createFleet(await managerOf(connection), { replicas: 1, keepHours });
    await connection.close();
  }

  /** Returns a Mac of this member, which is not started yet. */
  mac(member: string, machine = 'one'): FleetMac {
    const folder = temporaryFolder();
    const file = join(folder, 'member.line');
    writeFileSync(file, this.folder.addMac(member), { mode: 0o600 });
    const mac = new FleetMac(folder, { file, machine });
    this.#open.push(() => mac.dispose());
    return mac;
  }

  /** Returns a connection with the rights of a hub. */
  async hub(id = 'h1'): Promise<FleetConnection> {
    const host = { clock: systemClock, log: collectingLog(), name: hubName(id), maxReconnectMs: 200 };
    const connection = new FleetConnection(() => this.folder.hub, host);
    this.#open.push(() => connection.close());
    connection.start();
    await waitFor(() => connection.isConnected);
    return connection;
  }

  /** Returns a connection that may do everything. */
  async operator(): Promise<NatsConnection> {
    const connection = await connectOperator(this.folder, 'operator');
    this.#open.push(() => connection.close());
    return connection;
  }

  /** Returns everything that the stream has of one Mac, in order. */
  async events(member: string): Promise<readonly (FleetEvent & { readonly subject: string })[]> {
    const connection = await connectOperator(this.folder, 'operator');
    try {
      const jsm = await managerOf(connection);
      const { state } = await jsm.streams.info(EVENTS, { subjects_filter: eventsOf(member) });
      const found: (FleetEvent & { readonly subject: string })[] = [];
      for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
        const message = await jsm.streams.getMessage(EVENTS, { seq }).catch(() => null);
        if (message?.subject.startsWith(`ev.${member}.`)) {
          found.push({ ...openEvent(this.envelope, message.subject, message.data), subject: message.subject });
        }
      }
      return found;
    } finally {
      await connection.close();
    }
  }

  /** Waits until the stream has as many events of the Mac, and returns their texts. */
  async bodies(member: string, count: number): Promise<readonly unknown[]> {
    const events = await waitFor(async () => {
      const found = await this.events(member);
      return found.length >= count && found;
    });
    return events.map(({ event }) => event.data.body);
  }

  /** Returns a copy of what the server stores now. */
  copyOfStore(): string {
    const copy = join(temporaryFolder(), 'copy');
    cpSync(this.server.storeFolder, copy, { recursive: true });
    return copy;
  }

  /** Replaces what the server stores, as a restored backup does. */
  async restoreStore(copy: string): Promise<void> {
    await this.server.deleteStore();
    cpSync(copy, this.server.storeFolder, { recursive: true });
    await this.server.start();
  }

  async close(): Promise<void> {
    for (const end of this.#open) await end();
    await this.server.stop();
  }
}

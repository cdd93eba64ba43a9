import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { EVENTS } from '../../src/features/fleet/protocol/subjects.ts';
import { createFleet, DEFAULT_SIZE } from '../../src/features/fleet/setup/streams.ts';
import { waitFor } from './eventually.ts';
import { freePort } from './service.ts';
import { whenFileEnds } from './temporary.ts';

const PROGRAM = process.env.NATS_SERVER ?? 'nats-server';

/** Reports whether nats-server is installed; Debian and Homebrew have it. */
const isInstalled = ((): boolean => {
  try {
    execFileSync(PROGRAM, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Declares tests with a real nats-server. Without one they are skipped, with the reason in their names. */
export function describeWithNats(name: string, run: () => void): void {
  if (isInstalled) describe(name, run);
  else describe.skip(`${name} (skipped: needs nats-server)`, run);
}

/** A real nats-server with JetStream on a free loopback port. */
export class NatsServer {
  readonly name: string;
  readonly #folder: string;
  readonly #config: string;
  readonly #storeBytes: number | undefined;
  #child: ChildProcess | undefined;
  #port = -1;

  private constructor(config: string, name: string, storeBytes?: number) {
    this.name = name;
    this.#folder = mkdtempSync(join(tmpdir(), 'postern-nats-'));
    this.#config = config;
    this.#storeBytes = storeBytes;
  }

  /** `config` is added to the server's configuration: accounts, TLS. `storeBytes` limits what it stores. */
  static async start(config = '', name = 'server', storeBytes?: number): Promise<NatsServer> {
    const server = new NatsServer(config, name, storeBytes);
    whenFileEnds(() => server.dispose());
    await server.launch();
    return server;
  }

  /** Starts a server with the streams and buckets that `postern fleet` creates. */
  static async forFleet(): Promise<NatsServer> {
    const server = await NatsServer.start();
    await server.createFleet();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get storeFolder(): string {
    return join(this.#folder, 'store');
  }

  async createFleet(): Promise<void> {
    const nc = await connect({ servers: this.url });
    await createFleet(await jetstreamManager(nc), DEFAULT_SIZE);
    await nc.close();
  }

  async deleteStream(): Promise<void> {
    const nc = await connect({ servers: this.url });
    await (await jetstreamManager(nc)).streams.delete(EVENTS);
    await nc.close();
  }

  /** Starts it; after `stop`, on the same port. Resolves when JetStream answers. */
  async launch(): Promise<void> {
    if (this.#port < 0) this.#port = await freePort();
    mkdirSync(this.storeFolder, { recursive: true });
    const file = join(this.#folder, 'server.conf');
    const room = this.#storeBytes === undefined ? '' : `, max_file_store: ${this.#storeBytes}`;
    const store = `jetstream { store_dir: ${JSON.stringify(this.storeFolder)}${room} }`;
    writeFileSync(file, `server_name: ${this.name}\nlisten: "127.0.0.1:${this.#port}"\n${store}\n${this.#config}\n`);
    const child = spawn(PROGRAM, ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    let output = '';
    child.stderr?.on('data', (chunk) => (output += String(chunk)));
    await waitFor(() => {
      if (child.exitCode !== null) throw new Error(`nats-server ended with ${child.exitCode}: ${output}`);
      return output.includes('Server is ready');
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    await ended;
  }

  /** Stops it and deletes everything it stored. */
  async deleteStore(): Promise<void> {
    await this.stop();
    rmSync(this.storeFolder, { recursive: true, force: true });
  }

  async dispose(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

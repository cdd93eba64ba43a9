import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROW_EVENT_TYPES } from '../../src/core/model/event.ts';
import { waitFor } from '../support/eventually.ts';
import { MAIN } from '../support/postern.ts';
import { freePort, KEY } from '../support/service.ts';
import { BARE_ENVIRONMENT } from '../support/temporary.ts';

/** Preloaded by processes whose clock a test sets with SIGUSR2. */
export const CLOCK = fileURLToPath(new URL('set-clock.cjs', import.meta.url));

/** A hub in its own process, with the same port at every start. SIGUSR2 sets its clock. */
export class HubProcess {
  readonly port: number;
  /** Path of the main.js of the version to start. */
  program: string;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number, servers: readonly string[], program: string) {
    this.#folder = folder;
    this.port = port;
    this.program = program;
    mkdirSync(folder, { mode: 0o700 });
    const lines = [
      ...['[server]', `port = ${port}`, 'socket = false', 'rate_limit_per_minute = 1000000'],
      ...['[auth]', `api_key = "${KEY}"`, '[fleet]', `servers = ${JSON.stringify(servers)}`],
    ];
    writeFileSync(join(folder, 'config.toml'), `${lines.join('\n')}\n`, { mode: 0o600 });
  }

  static async start(folder: string, servers: readonly string[], program = MAIN): Promise<HubProcess> {
    const hub = new HubProcess(folder, await freePort(), servers, program);
    await hub.launch();
    return hub;
  }

  async launch(): Promise<void> {
    const child = spawn(process.execPath, [this.program, 'hub', '--config-dir', this.#folder], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...BARE_ENVIRONMENT, HOME: this.#folder, NODE_OPTIONS: `--require ${CLOCK}` },
    });
    this.#child = child;
    let output = '';
    child.stderr?.on('data', (chunk) => (output += String(chunk)));
    await waitFor(async () => {
      if (child.exitCode !== null) throw new Error(`the hub ended with ${child.exitCode}: ${output}`);
      return (await fetch(`http://127.0.0.1:${this.port}/api/v1/health`)).status < 600;
    });
  }

  /** Registers a webhook for every event. Resolves once some hub delivers to it. */
  async addWebhook(url: string): Promise<void> {
    await waitFor(async () => {
      const answer = await fetch(`http://127.0.0.1:${this.port}/api/v1/webhooks`, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ url, events: ROW_EVENT_TYPES }),
      });
      return answer.status === 201;
    });
  }

  /** Returns status and code of the answer to a send by this Mac. */
  async send(mac: string): Promise<readonly [number, string | undefined]> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/api/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': KEY, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify({ recipient: '+15550100', body: 'hello', from: mac }),
    });
    return [answer.status, ((await answer.json()) as { code?: string }).code];
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
}

/** Passes each connection to the first port that accepts it, starting with a different port each time. */
export class Balancer {
  readonly #server: Server;
  readonly #ports: readonly number[];
  readonly #sockets = new Set<Socket>();
  #next = 0;
  port = 0;

  private constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#server = createServer((client) => {
      this.#next += 1;
      this.#hold(client);
      this.#forward(client, this.#next, 0);
    });
  }

  static async start(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    const address = balancer.#server.address();
    balancer.port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    return balancer;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #forward(client: Socket, first: number, attempt: number): void {
    const target = connectTcp(this.#ports[(first + attempt) % this.#ports.length] ?? 0, '127.0.0.1');
    this.#hold(target);
    target.once('connect', () => {
      client.pipe(target);
      target.pipe(client);
      client.once('close', () => target.destroy());
      target.once('close', () => client.destroy());
    });
    target.once('error', () => {
      if (attempt + 1 < this.#ports.length) this.#forward(client, first, attempt + 1);
      else client.destroy();
    });
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

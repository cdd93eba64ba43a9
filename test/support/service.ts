import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';
import { waitFor } from './eventually.ts';
import { serveHere } from './service-here.ts';
import { ServiceProcess, type Serving } from './service-process.ts';
import { BARE_ENVIRONMENT, whenFileEnds } from './temporary.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** The key of every service that a test starts. */
export const KEY = 'a-key-for-all-the-tests';

/** The service may close an idle connection just when a request begins on it. */
const NOTHING_KEPT = new Agent({ keepAlive: false });

export interface ServiceOptions {
  readonly chatDbPath: string;
  readonly osascriptPath?: string;
  /** Settings of config.toml, by section. */
  readonly settings?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly arguments?: readonly string[];
  /** `serve` by default. */
  readonly command?: 'serve' | 'hub';
  /** Path of another version's main.js; the current one by default. */
  readonly program?: string | undefined;
  /** A program with its arguments that runs the service's command line, such as a shell. */
  readonly through?: readonly string[];
}

export interface Answer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, parsed. */
  readonly json: unknown;
}

/** The real service, used over real HTTP and WebSocket: a child process, or in this process. */
export class Service {
  readonly folder: string;
  readonly #options: ServiceOptions;
  readonly #isProcess: boolean;
  #isHere: boolean;
  #serving: Serving | undefined;
  /** That before the last start. */
  #earlierOutput = '';
  #port = 0;

  private constructor(folder: string, options: ServiceOptions, isHere: boolean) {
    this.folder = folder;
    this.#options = options;
    this.#isHere = isHere;
    this.#isProcess = !isHere;
  }

  /** Writes a configuration and starts the service as a process. Resolves when health answers. */
  static start(options: ServiceOptions): Promise<Service> {
    return Service.#start(options, false);
  }

  /**
   * Starts the service in this process, from the compiled modules: in a tenth of the time. For whatever does not depend
   * on the process, its signals and its environment.
   */
  static here(options: Pick<ServiceOptions, 'chatDbPath' | 'osascriptPath' | 'settings'>): Promise<Service> {
    return Service.#start(options, true);
  }

  static async #start(options: ServiceOptions, isHere: boolean): Promise<Service> {
    const folder = mkdtempSync(join(tmpdir(), 'postern-service-'));
    const service = new Service(folder, options, isHere);
    whenFileEnds(() => service.dispose());
    mkdirSync(service.configFolder, { mode: 0o700 });
    // The system could give a port of its own choice to another process between a stop and a start.
    if (options.settings?.server?.port === undefined) service.#port = await freePort();
    service.configure();
    await service.launch();
    return service;
  }

  get configFolder(): string {
    return join(this.folder, 'config');
  }

  /** The port since the first start: a free one, unless the settings name one. */
  get port(): number {
    return this.#port;
  }

  get socketPath(): string {
    return join(this.configFolder, 'postern.sock');
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/api/v1`;
  }

  /** Everything that the service has written to stdout and stderr. */
  get output(): string {
    return this.#earlierOutput + (this.#serving?.output ?? '');
  }

  get pid(): number {
    return this.#serving?.pid ?? 0;
  }

  configure(settings: ServiceOptions['settings'] = {}): void {
    const own: NonNullable<ServiceOptions['settings']> = {
      server: { port: this.port, rate_limit_per_minute: 1_000_000 },
      auth: { api_key: KEY },
      backend: {
        chat_db_path: this.#options.chatDbPath,
        osascript_path: this.#options.osascriptPath ?? '/usr/bin/false',
        poll_interval_ms: 50,
      },
    };
    const sections: Record<string, Record<string, unknown>> = {};
    for (const given of [own, this.#options.settings ?? {}, settings]) {
      for (const [name, keys] of Object.entries(given)) sections[name] = { ...sections[name], ...keys };
    }
    const toml = Object.entries(sections)
      .flatMap(([name, keys]) => [
        `[${name}]`,
        ...Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
      ])
      .join('\n');
    writeFileSync(join(this.configFolder, 'config.toml'), `${toml}\n`, { mode: 0o600 });
  }

  /** Starts serving, also again after `stop`. */
  async launch(): Promise<void> {
    this.#earlierOutput = this.output;
    if (this.#isHere) {
      const here = await serveHere(this.folder, this.configFolder);
      this.#serving = here;
      this.#port = Number(new URL(here.url).port);
      return;
    }
    const { arguments: more = [], command = 'serve', through = [], env, program: main = MAIN } = this.#options;
    const line = [...through, process.execPath, main, command, '--config-dir', this.configFolder, ...more];
    const child = new ServiceProcess(line, { ...BARE_ENVIRONMENT, HOME: this.folder, ...env });
    this.#serving = child;
    await waitFor(async () => {
      child.assertRunning();
      this.#port ||= Number(/"url":"http:[^"]*:(\d+)"/.exec(child.output)?.[1] ?? 0);
      // The port answers before the Unix socket does.
      const isServing = child.output.includes('"msg":"serving"') && this.#port !== 0;
      return isServing && (await fetch(`${this.url}/health`, { headers: { connection: 'close' } })).ok;
    });
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('GET', path, { headers });
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('POST', path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  /** Sends one request with the right key, unless `x-api-key` is given. An empty `x-api-key` sends no key. */
  async request(
    method: string,
    path: string,
    init: { body?: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const headers: Record<string, string> = { 'x-api-key': KEY, ...init.headers };
    if (headers['x-api-key'] === '') delete headers['x-api-key'];
    const url = new URL(this.url + path);
    // Not `fetch`, which costs more than most answers of the service.
    const sent = request(url, { method, headers, agent: NOTHING_KEPT });
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.end(init.body);
    const [response] = await answered;
    const text = await readText(response);
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    const given = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    return { url: url.href, status: response.statusCode ?? 0, headers: new Headers(given), text, json };
  }

  /** Opens a WebSocket that records its events. Resolves when it is open. */
  async socket(query = ''): Promise<Listener> {
    const socket = new WebSocket(`ws://127.0.0.1:${this.port}/api/v1/ws?api_key=${encodeURIComponent(KEY)}${query}`);
    const listener = new Listener(socket);
    await once(socket, 'open');
    return listener;
  }

  /** Sends the signal. Resolves with the exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    return (await this.#serving?.stop(signal)) ?? null;
  }

  /** Goes on as a process, because a service in this one cannot be killed. */
  async becomeProcess(): Promise<void> {
    await this.stop();
    this.#isHere = false;
    await this.launch();
  }

  /** Kills the process. The next start is in this process again, unless the first one was not. */
  async kill(): Promise<void> {
    await this.stop('SIGKILL');
    this.#isHere = !this.#isProcess;
  }

  /** Stops the service and removes its folder. */
  async dispose(): Promise<void> {
    await this.stop(this.#isHere ? 'SIGTERM' : 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  stateFile(name: string): Buffer {
    return readFileSync(join(this.configFolder, name));
  }
}

export interface ReceivedEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly id: string };
}

/** A WebSocket client that records every frame. */
export class Listener {
  readonly socket: WebSocket;
  readonly frames: string[] = [];
  readonly #parsed: ReceivedEvent[] = [];

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data, isBinary) => {
      if (isBinary) throw new Error('a binary frame');
      this.frames.push((data as Buffer).toString('utf8'));
    });
  }

  /** The events of all frames; each frame is parsed once. */
  get events(): ReceivedEvent[] {
    if (this.frames.length < this.#parsed.length) this.#parsed.length = 0;
    for (const frame of this.frames.slice(this.#parsed.length)) this.#parsed.push(JSON.parse(frame) as ReceivedEvent);
    return [...this.#parsed];
  }

  /** Resolves with the first event that fits, as soon as it arrives. */
  event(fits: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent> {
    return waitFor(() => this.events.find(fits));
  }

  async close(): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return;
    const closed = once(this.socket, 'close');
    this.socket.terminate();
    await closed;
  }
}

const PORTS_OF_WORKER = 2000;
const FIRST_PORT = 10_000 + (Number(process.env.JEST_WORKER_ID ?? 0) % 10) * PORTS_OF_WORKER;
let portsTried = Math.floor(Math.random() * PORTS_OF_WORKER);

/**
 * Returns an unused loopback port below those that the system assigns to connections (from 32768 on Linux, from 49152
 * on macOS), so that no connection takes it before it is used or between two starts. Each worker has its own range, so
 * that no other test takes it either.
 */
export async function freePort(): Promise<number> {
  return waitFor(async () => {
    portsTried += 1;
    const port = FIRST_PORT + (portsTried % PORTS_OF_WORKER);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    await new Promise((resolve) => server.close(resolve));
    return port;
  });
}

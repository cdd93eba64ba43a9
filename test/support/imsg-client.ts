import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { waitFor } from './eventually.ts';
import { MAIN } from './postern.ts';
import type { Service } from './service.ts';
import { BARE_ENVIRONMENT, whenFileEnds } from './temporary.ts';

export interface RpcAnswer {
  readonly id: number | string | null;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data: unknown };
}

/** A message in the form that the client accepts: if any member is missing, it silently drops the message. */
export interface TakenMessage {
  readonly id: number;
  readonly guid: string;
  readonly chat_id: number;
  readonly chat_guid: string;
  readonly chat_identifier: string;
  readonly sender: string;
  readonly text: string;
  readonly is_from_me: boolean;
  readonly is_group: boolean;
  readonly attachments: readonly { readonly original_path: string | null; readonly missing: boolean }[];
  readonly is_reaction?: boolean;
  readonly [name: string]: unknown;
}

/** The types that OpenClaw's plugin checks one by one; null is allowed, other types are not. */
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: (value) => typeof value === 'number' && Number.isInteger(value),
  guid: isText,
  chat_id: (value) => typeof value === 'number' && Number.isInteger(value) && value > 0,
  chat_guid: isText,
  chat_identifier: isText,
  chat_name: isText,
  participants: (value) => Array.isArray(value) && value.every(isText),
  is_group: isFlag,
  sender: isText,
  is_from_me: isFlag,
  text: isText,
  created_at: (value) => isText(value) && !Number.isNaN(Date.parse(String(value))),
  reply_to_guid: isText,
  thread_originator_guid: isText,
  reply_to_text: isText,
  reply_to_sender: isText,
  destination_caller_id: isText,
  attachments: (value) => Array.isArray(value),
  is_reaction: isFlag,
  is_tapback: isFlag,
  is_reaction_add: isFlag,
  reaction_type: isText,
  reaction_emoji: isText,
  reacted_to_guid: isText,
};

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isFlag(value: unknown): boolean {
  return typeof value === 'boolean';
}

/** Plays OpenClaw's side of imsg's JSON-RPC: starts the program as its plugin does, and reads the output. */
export class ImsgClient {
  readonly child: ChildProcess;
  readonly answers: RpcAnswer[] = [];
  readonly messages: TakenMessage[] = [];
  /** Lines and fields that the real client would not have accepted. */
  readonly refused: string[] = [];
  /** All of stdout. */
  output = '';
  errors = '';
  readonly #closed: Promise<unknown>;
  #ids = 0;

  private constructor(child: ChildProcess) {
    this.child = child;
    this.#closed = once(child, 'close');
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.output += chunk;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(line);
    });
    child.stderr?.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
    child.stdin?.on('error', () => {});
  }

  static start(service: Service, key: string, env: Readonly<Record<string, string>> = {}): ImsgClient {
    const args = [MAIN, 'imsg', '--config-dir', service.configFolder, 'rpc', '--json'];
    const child = spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...BARE_ENVIRONMENT, HOME: service.folder, POSTERN_API_KEY: key, ...env },
    });
    whenFileEnds(() => child.kill('SIGKILL'));
    return new ImsgClient(child);
  }

  /** Returns the folder of files, for a client with the service's home. */
  static filesOf(service: Service): string {
    return join(service.folder, '.cache/postern/imsg');
  }

  async ask(method: string, params: object = {}): Promise<RpcAnswer> {
    this.#ids += 1;
    const id = this.#ids;
    this.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return this.answerTo(id);
  }

  answerTo(id: RpcAnswer['id']): Promise<RpcAnswer> {
    return waitFor(() => {
      if (this.child.exitCode !== null) throw new Error(`it ended with ${this.child.exitCode}: ${this.errors}`);
      return this.answers.find((answer) => answer.id === id);
    });
  }

  write(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  message(fits: (message: TakenMessage) => boolean): Promise<TakenMessage> {
    return waitFor(() => this.messages.find(fits));
  }

  /** Closes stdin, as the plugin does to the child process of each send. Returns the exit code. */
  async end(): Promise<number | null> {
    this.child.stdin?.end();
    return this.ended();
  }

  /** Returns the exit code once the whole output was read. */
  async ended(): Promise<number | null> {
    await this.#closed;
    return this.child.exitCode;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended();
  }

  #take(line: string): void {
    let value: { readonly id?: unknown; readonly method?: string; readonly params?: { readonly message?: object } };
    try {
      value = JSON.parse(line) as typeof value;
    } catch {
      this.refused.push(line);
      return;
    }
    if (value.method === undefined) this.answers.push(value as RpcAnswer);
    else if (value.method === 'message') this.#takeMessage(value.params?.message ?? {});
  }

  #takeMessage(message: object): void {
    const wrong = Object.entries(message).filter(([name, value]) => value !== null && TYPES[name]?.(value) === false);
    if (wrong.length > 0) this.refused.push(JSON.stringify(wrong));
    else this.messages.push(message as TakenMessage);
  }
}

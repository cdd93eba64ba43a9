import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PosternClient } from '../../src/client/postern-client.ts';
import { ROW_EVENT_TYPES } from '../../src/core/model/event.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { testIf } from '../support/conditions.ts';
import type { Receiver } from '../support/receiver.ts';
import { KEY, Service, type ServiceOptions } from '../support/service.ts';
import { whenFileEnds } from '../support/temporary.ts';

/** The other person in the only conversation at the start. */
export const PERSON = '+15550100';

export interface SomeEvent {
  readonly type: string;
  readonly data: object;
}

const ROW_EVENTS: ReadonlySet<string> = new Set(ROW_EVENT_TYPES);

/** A chat.db, the service that reads it, and whatever else a fault needs. `end` removes all of it. */
export class Harness {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-faults-'));
  readonly database = new ChatFixture(join(this.folder, 'Library/Messages/chat.db'));
  readonly #ends: (() => unknown)[] = [];
  #service: Service | undefined;

  constructor() {
    whenFileEnds(() => rmSync(this.folder, { recursive: true, force: true }));
    this.database.chat(`any;-;${PERSON}`, [PERSON]);
    this.database.message({ chat: 1, text: 'history', handle_id: 1 });
  }

  get service(): Service {
    if (this.#service === undefined) throw new Error('the service has not been started');
    return this.#service;
  }

  get path(): string {
    return this.database.path;
  }

  async start(options: Partial<ServiceOptions> = {}): Promise<Service> {
    this.#service = await Service.start({ chatDbPath: this.path, ...options });
    this.#ends.push(() => this.#service?.dispose());
    return this.#service;
  }

  /** Registers the receiver for every event of rows, with a key's rights. Returns the webhook's id. */
  async webhook(receiver: Receiver, key = KEY): Promise<string> {
    this.#ends.push(() => receiver.close());
    const settings = { url: receiver.url, events: ROW_EVENT_TYPES };
    const answer = await this.service.post('/webhooks', settings, { 'x-api-key': key });
    if (answer.status !== 201) throw new Error(answer.text);
    return (answer.json as { id: string }).id;
  }

  /** Creates a client that resumes where it stopped, whatever happens to the line. */
  client(after: number): ResumingClient {
    const client = new ResumingClient(this.service, after);
    this.#ends.push(() => client.close());
    return client;
  }

  writer(rowsPerSecond: number, options: WriterOptions = {}): Writer {
    const writer = new Writer(this.path, rowsPerSecond, options);
    this.#ends.push(() => writer.kill());
    return writer;
  }

  /** Returns the row ids in chat.db above `after`. */
  rowsAfter(after: number): number[] {
    return this.database.sqlite
      .prepare('SELECT ROWID FROM message WHERE ROWID > ? ORDER BY ROWID')
      .all(after)
      .map((row) => Number(row[0]));
  }

  /** Returns the row ids above `after` that belong to a conversation, which a key for that conversation may read. */
  joinedRowsAfter(after: number): number[] {
    const joined = this.database.sqlite.prepare('SELECT message_id FROM chat_message_join').all().flat();
    const known = new Set(joined.map(Number));
    return this.rowsAfter(after).filter((row) => known.has(row));
  }

  /**
   * Returns the events of new rows that contradict chat.db: an own message reported as received, or one reported
   * without its conversation. An own row that was written with the other person's handle may be either
   * (docs/project/guarantees.md), and so may an unsent one, which no longer shows how it was written.
   */
  contradictions(events: readonly SomeEvent[]): string[] {
    const rows = this.database.sqlite
      .prepare(
        `SELECT ROWID, is_from_me, attributedBody IS NULL OR instr(attributedBody, CAST('with handle' AS BLOB)) > 0,
                ROWID IN (SELECT message_id FROM chat_message_join) FROM message`,
      )
      .all();
    const truth = new Map(rows.map(([rowId, ...facts]) => [String(rowId), facts.map((fact) => fact === 1)]));
    return events.flatMap(({ type, data }) => {
      const { id = '', conversation_id: conversation } = data as { id?: string; conversation_id?: string };
      const [isOwn, mayBeEither, isJoined] = truth.get(id) ?? [];
      const told = { 'message.sent': true, 'message.received': false }[type];
      const isWrongWay = told !== undefined && isOwn === !told && mayBeEither === false;
      const lacksConversation = ROW_EVENTS.has(type) && isJoined === true && conversation === '';
      return isWrongWay || lacksConversation ? [`${type} ${id} of "${conversation ?? ''}"`] : [];
    });
  }

  newestRow(): number {
    return Number(this.database.sqlite.prepare('SELECT max(ROWID) FROM message').get()?.[0]);
  }

  async end(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end();
    this.database.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface WriterOptions {
  readonly program?: string;
  /** Seed of the rows, which the simulated Messages writes. */
  readonly seed?: number;
  /** Number of messages to write before it ends. */
  readonly rows?: number;
}

export class Writer {
  readonly #child: ChildProcess;

  constructor(paths: string | readonly string[], rowsPerSecond: number, options: WriterOptions = {}) {
    const { program = 'writer.mjs', ...flags } = options;
    const script = fileURLToPath(new URL(program, import.meta.url));
    const named = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    this.#child = spawn(process.execPath, [script, ...named, ...[paths].flat(), String(rowsPerSecond)], {
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    whenFileEnds(() => this.kill());
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves once the writer has ended by itself. */
  async ended(): Promise<void> {
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    if (this.#child.exitCode !== 0) throw new Error(`the writer ended with ${this.#child.exitCode}`);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

export class ResumingClient {
  readonly events: SomeEvent[] = [];
  readonly rows: number[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  reconnects = 0;

  constructor(service: Service, after: number) {
    const client = new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: KEY });
    this.#ended = (async () => {
      const onReconnect = (): void => {
        this.reconnects += 1;
      };
      for await (const event of client.listen({ after, signal: this.#stop.signal, onReconnect })) {
        this.events.push(event);
        this.rows.push(Number(event.data.id));
      }
    })();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

/** Waits before the next fault. Only for timing a fault, never for something to happen. */
export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** Returns the row ids that a receiver got, in order of arrival. */
export function rowsOf(receiver: Receiver): number[] {
  return receiver.deliveries.map((delivery) => Number(delivery.event.data.id));
}

/** Compares a list of row ids, which may hold repeats, with what was written. */
export function compare(
  written: readonly number[],
  arrived: readonly number[],
): {
  lost: number[];
  repeats: number;
  outOfOrder: number;
  unknown: number[];
} {
  const known = new Set(written);
  const seen = new Set<number>();
  let repeats = 0;
  let outOfOrder = 0;
  let highest = 0;
  for (const row of arrived) {
    if (seen.has(row)) repeats += 1;
    else if (row < highest) outOfOrder += 1;
    seen.add(row);
    highest = Math.max(highest, row);
  }
  return {
    lost: written.filter((row) => !seen.has(row)),
    repeats,
    outOfOrder,
    unknown: [...seen].filter((row) => !known.has(row)),
  };
}

/** Declares a test that measures the service in /proc; skipped, with the reason in its name, where there is none. */
export function testWithProc(name: string, run: () => Promise<void>, limitMs?: number): void {
  testIf(process.platform === 'linux', 'needs /proc of Linux')(name, run, limitMs);
}

/** Returns a process's resident memory in MiB. */
export function residentMiB(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

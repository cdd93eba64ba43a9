import { FLAGS } from '../../../src/domain/fingerprint.ts';
import { BLOCK_ROWS } from '../../../src/domain/ports/changes.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryChangeStore } from './memory-change-store.ts';
import { ModelChat, type ModelRow } from './model-chat.ts';
import { ChangesClient, fail, ModelConsumer, RowsClient } from './model-readers.ts';
import { ModelService } from './model-service.ts';
import type { CommitName, Schedule, Step } from './schedule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

class Crashed extends Error {}

/**
 * What one commit does to one row. None takes back what another did before it was seen: a reader that looks in between
 * would be left with what is not so any more, and nothing could tell it.
 */
const EDITS: Partial<Record<CommitName, (row: ModelRow) => void>> = {
  edit(row) {
    row.version += 1;
  },
  unsend(row) {
    row.isUnsent = true;
  },
  read(row) {
    row.isRead = true;
  },
  delivered(row) {
    row.isDelivered = row.isOwn;
  },
  failed(row) {
    row.isFailed = row.isOwn;
  },
  delete(row) {
    row.isDeleted = true;
  },
  restore(row) {
    row.isDeleted = false;
  },
  attach(row) {
    row.files += 1;
  },
};

/** Runs one schedule; what it found wrong, or undefined. */
export async function failureOf(schedule: Schedule): Promise<string | undefined> {
  try {
    await new World(schedule).run();
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

/** A chat.db, a state.db, the service and its readers. */
class World {
  readonly #schedule: Schedule;
  readonly #clock = new FakeClock();
  readonly #chat = new ModelChat();
  readonly #store = new MemoryChangeStore();
  readonly #changes: readonly ChangesClient[];
  readonly #rows: RowsClient;
  readonly #consumers: ModelConsumer[] = [];
  #service: ModelService;
  #callsLeft = 0;
  #during: Step['during'];
  #failsWrites = false;
  /** Commits to old rows before the present log was begun, and its generation. */
  #mutationsBefore = 0;
  #generation = 0;
  #databaseOfLog = '';
  #wrong: string | undefined;
  #mutationsAtStep = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#store.kept = schedule.kept;
    this.#changes = schedule.clients.map((kind, number) => new ChangesClient(this.#chat, kind, number));
    this.#rows = new RowsClient(this.#chat);
    this.#service = this.#boot();
  }

  async run(): Promise<void> {
    for (const step of this.#schedule.steps) {
      this.#mutationsAtStep = this.#chat.mutations;
      this.#during = step.during;
      this.#callsLeft = step.during?.call ?? 0;
      await this.#step(step);
      this.#during = undefined;
      this.#checkLog();
    }
    await this.#quiesce();
    this.#checkReaders();
  }

  async #step(step: Step): Promise<void> {
    switch (step.do) {
      case 'notice':
        this.#service.notice();
        return this.#clock.advance(0);
      case 'wait':
        // On a Mac a poll finds every commit; here some are found late.
        if (step.which < 0.7) this.#service.notice();
        return this.#clock.advance([0, 20, 60, 400, 1100, 2500, 61_000][step.size % 7] ?? 0);
      case 'month':
        // What is attempted every second would be attempted millions of times.
        if (this.#failsWrites || this.#chat.isAway) return;
        this.#during = undefined;
        this.#service.notice();
        await this.#clock.advance(5000);
        return this.#clock.advance(31 * DAY_MS);
      case 'crash':
        this.#crash();
        return this.#clock.advance(0);
      case 'down':
        this.#kill();
        for (let n = 0; n < step.size; n += 1)
          this.#commit((['edit', 'read', 'insert', 'remove'] as const)[n % 4] ?? 'edit', (step.which + n * 0.37) % 1);
        this.#start();
        return this.#clock.advance(0);
      case 'away':
        this.#chat.isAway = true;
        return undefined;
      case 'back':
        this.#chat.isAway = false;
        this.#service.notice();
        return this.#clock.advance(0);
      case 'replace':
        this.#chat.replace(step.size);
        return undefined;
      case 'failWrites':
        this.#failsWrites = !this.#failsWrites;
        return undefined;
      case 'failWrite':
        return undefined;
      case 'connect':
      case 'disconnect':
      case 'take':
      case 'takeAll':
      case 'consume':
        this.#read(step);
        return this.#clock.advance(0);
      default:
        this.#commit(step.do, step.which, step.size);
    }
  }

  #read(step: Step): void {
    const clients = [...this.#changes, this.#rows];
    const client = clients[Math.floor(step.which * clients.length)] ?? this.#rows;
    this.#attempt(() => {
      if (step.do === 'connect') client.connect(this.#service);
      else if (step.do === 'disconnect') client.disconnect();
      else if (step.do === 'consume') this.#consume(step.size);
      else if (client instanceof RowsClient) client.take(1 + step.size);
      else client.take(this.#service, 1 + step.size, step.do === 'take' && step.size < 4 ? step.size : undefined);
    });
  }

  #consume(size: number): void {
    if (this.#consumers.length > 2) return;
    const consumer = new ModelConsumer(this.#chat, `webhook/${this.#consumers.length}`);
    this.#store.consumers.set(consumer.name, this.#service.feed.resolve(undefined, { changes: true }));
    consumer.mirror.isEarly = true;
    consumer.mirror.readAll(this.#service);
    this.#consumers.push(consumer);
    this.#startConsumer(consumer, size);
  }

  #startConsumer(consumer: ModelConsumer, size = 0): void {
    consumer.start(
      this.#service,
      this.#store.consumers,
      size % 2 === 0 ? 0 : 20,
      (ms, run) => void this.#clock.after(ms, run),
    );
  }

  /** What a client meets when the service is gone, or cannot read or write, is no failure. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      const { code } = error as { readonly code?: string };
      const isExpected =
        error instanceof Crashed ||
        error instanceof WriteFailed ||
        code === 'chat_db_unavailable' ||
        code === 'after_unknown';
      if (!isExpected) throw error;
    }
  }

  #onCall(service: ModelService, isWrite: boolean): void {
    if (service.isDead) throw new Crashed('the process is gone');
    const during = this.#during;
    if (during !== undefined && (isWrite || !during.isWrite)) {
      this.#callsLeft -= 1;
      if (this.#callsLeft <= 0) {
        if (during.do === 'failWrite') {
          if (isWrite) {
            this.#during = undefined;
            throw new WriteFailed('the disk is full');
          }
        } else {
          this.#during = undefined;
          if (during.do === 'crash') {
            this.#kill();
            setImmediate(() => this.#start());
            throw new Crashed('the process ends here');
          }
          if (during.do === 'away') this.#chat.isAway = true;
          else this.#commit(during.do, during.which);
        }
      }
    }
    if (isWrite && this.#failsWrites) throw new WriteFailed('the disk is full');
  }

  #commit(name: CommitName, which: number, size = 0): void {
    const chat = this.#chat;
    const rows = [...chat.rows.values()];
    const row = rows[Math.floor(which * rows.length)];
    const edit = EDITS[name];
    if (name === 'restore' && !this.#isDeletionSeen(row)) return;
    if (edit !== undefined && row?.isReaction === false) chat.change(row.rowId, edit);
    else if (name === 'insert') chat.insert({ isComplete: which < 0.8 }, which > 0.9 ? 700 : 0);
    else if (name === 'insertOwn') chat.insert({ isOwn: true });
    else if (name === 'react') chat.insert({ isReaction: true });
    else if (name === 'insertLate') for (let n = 0; n <= size; n += 1) chat.insert({ isRead: true });
    else if (name === 'fill') {
      for (let n = 0; n < 3 + size; n += 1) chat.insert({ isOwn: n % 3 === 0 }, n === 2 && which < 0.5 ? 900 : 0);
    } else if (name === 'remove' && row !== undefined) chat.remove(row.rowId);
    else if (name === 'complete') for (const each of rows) each.isComplete = true;
    else if (name === 'flood') {
      for (const each of rows) if (!each.isReaction) chat.change(each.rowId, (one) => EDITS.edit?.(one));
    }
  }

  #isDeletionSeen(row: ModelRow | undefined): boolean {
    if (row === undefined) return false;
    const print = this.#store.prints(Math.floor(row.rowId / BLOCK_ROWS))?.[row.rowId % BLOCK_ROWS] ?? 0;
    return Math.floor(print / FLAGS.deleted) % 2 === 1;
  }

  #boot(): ModelService {
    const service = new ModelService({
      chat: this.#chat,
      store: this.#store,
      clock: this.#clock,
      onCall: (of, isWrite) => this.#onCall(of, isWrite),
      onLog: (isBegin) => {
        if (isBegin) this.#databaseOfLog = this.#chat.id;
        else if (this.#databaseOfLog !== this.#chat.id) this.#wrong ??= 'changes of another database were stored';
      },
    });
    this.#service = service;
    // A store that fails here ends the process, and launchd starts it again.
    this.#attempt(() => service.start());
    return service;
  }

  #crash(): void {
    this.#kill();
    this.#start();
  }

  #kill(): void {
    this.#service.isDead = true;
    for (const client of [...this.#changes, this.#rows]) client.lose();
  }

  #start(): void {
    if (!this.#service.isDead) return;
    this.#boot();
    for (const consumer of this.#consumers) this.#attempt(() => this.#startConsumer(consumer));
  }

  /** Everything is in order again, and everybody reads to the end. */
  async #quiesce(): Promise<void> {
    this.#failsWrites = false;
    this.#chat.isAway = false;
    for (const row of this.#chat.rows.values()) row.isComplete = true;
    this.#start();
    for (const waitMs of [0, 5000, HOUR_MS + 70_000, 5000]) {
      this.#service.notice();
      await this.#clock.advance(waitMs);
      await this.#drain();
    }
  }

  async #drain(): Promise<void> {
    for (let round = 0; round < 500; round += 1) {
      let taken = 0;
      for (const client of this.#changes) {
        client.connect(this.#service);
        taken += client.take(this.#service, 7);
      }
      this.#rows.connect(this.#service);
      taken += this.#rows.take(7);
      await this.#clock.advance(0);
      if (taken === 0) return;
    }
    fail('a reader is never done');
  }

  #checkReaders(): void {
    for (const consumer of this.#consumers) consumer.settle(this.#service);
    for (const { mirror, name } of [...this.#changes, ...this.#consumers]) {
      const difference = mirror.difference();
      if (difference !== undefined) fail(`${name}: ${difference}`);
    }
    const missing = this.#rows.missing();
    if (missing.length > 0) fail(`a client of rows did not get rows ${missing.join(', ')}`);
    const { lines } = this.#service.log;
    const error = lines.find(({ level }) => level === 'error');
    if (error !== undefined && !/disk is full/.test(JSON.stringify(error, errorText)))
      fail(JSON.stringify(error, errorText));
  }

  /** No flood: every change in the log is one that Messages made since the log was begun. */
  #checkLog(): void {
    if (this.#store.generation() !== this.#generation) {
      this.#generation = this.#store.generation();
      this.#mutationsBefore = this.#mutationsAtStep;
    }
    if (this.#wrong !== undefined) fail(this.#wrong);
    const made = this.#chat.mutations - this.#mutationsBefore;
    if (this.#store.recorded > made) fail(`${this.#store.recorded} changes were told of ${made}`);
  }
}

class WriteFailed extends Error {
  readonly code = 'SQLITE_FULL';
}

function errorText(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}

import { FakeClock } from '../fake-clock.ts';
import { commit } from './commits.ts';
import { Crashed, errorText, isExpected, WriteFailed } from './failures.ts';
import { MemoryChangeStore } from './memory-change-store.ts';
import { ModelChat } from './model-chat.ts';
import { ChangesClient, fail, ModelConsumer, RowsClient } from './model-readers.ts';
import { ModelService } from './model-service.ts';
import type { Schedule, Step } from './schedule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const POLL_MS = 400;
/**
 * Maximum number of calls to chat.db and state.db per schedule. The longest of 100,000 schedules needs a sixth of them.
 */
const MAX_CALLS = 20_000;
const TOO_LONG = `the schedule takes more than ${MAX_CALLS} calls to chat.db and state.db`;

/** Runs one schedule. Returns what went wrong, or undefined. */
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
  /** Commits to old rows before the current log began, and its generation. */
  #mutationsBefore: ReadonlyMap<number, number> = new Map();
  #generation = 0;
  #databaseOfLog = '';
  #wrong: string | undefined;
  #mutationsAtStep: ReadonlyMap<number, number> = new Map();
  #calls = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#store.kept = schedule.kept;
    this.#changes = schedule.clients.map((kind, number) => new ChangesClient(this.#chat, kind, number));
    this.#rows = new RowsClient(this.#chat);
    this.#service = this.#boot();
  }

  async run(): Promise<void> {
    for (const step of this.#schedule.steps) {
      this.#mutationsAtStep = new Map(this.#chat.mutations);
      this.#during = step.during;
      this.#callsLeft = step.during?.call ?? 0;
      await this.#step(step);
      this.#during = undefined;
      this.#checkLength();
      this.#checkLog();
    }
    await this.#quiesce();
    this.#checkLength();
    this.#checkReaders();
  }

  async #step(step: Step): Promise<void> {
    switch (step.do) {
      case 'notice':
        this.#service.notice();
        return this.#clock.advance(0);
      case 'wait':
        // On a Mac every commit is found by a poll; here some are found late.
        if (step.which < 0.7) this.#service.notice();
        return this.#clock.advance([0, 20, 60, 400, 1100, 2500, 61_000][step.size % 7] ?? 0);
      case 'month':
        // Retries every second would mean millions of attempts.
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
        for (let n = 0; n < step.size; n += 1) {
          const kind = (['edit', 'read', 'insert', 'remove'] as const)[n % 4] ?? 'edit';
          commit(this.#chat, this.#store, kind, (step.which + n * 0.37) % 1);
        }
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
        commit(this.#chat, this.#store, step.do, step.which, step.size);
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

  /** Errors that a client meets when the service is away, or cannot read or write, are no failures. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!isExpected(error)) throw error;
    }
  }

  #onCall(service: ModelService, isWrite: boolean): void {
    if (service.isDead) throw new Crashed(this.#calls > MAX_CALLS ? TOO_LONG : 'the process is gone');
    this.#calls += 1;
    // A dead process does nothing, so the schedule ends.
    if (this.#calls > MAX_CALLS) this.#kill();
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
          else {
            commit(this.#chat, this.#store, during.do, during.which);
            // Simulates the poll that finds the commit.
            void this.#clock.after(POLL_MS, () => this.#attempt(() => this.#service.notice()));
          }
        }
      }
    }
    if (isWrite && this.#failsWrites) throw new WriteFailed('the disk is full');
  }

  #boot(): ModelService {
    const service = new ModelService({
      chat: this.#chat,
      store: this.#store,
      clock: this.#clock,
      lateByMs: this.#schedule.lateByMs,
      onCall: (of, isWrite) => this.#onCall(of, isWrite),
      onLog: (isBegin) => {
        if (isBegin) this.#databaseOfLog = this.#chat.id;
        else if (this.#databaseOfLog !== this.#chat.id) this.#wrong ??= 'changes of another database were stored';
      },
    });
    this.#service = service;
    // A store that fails here ends the process, and launchd restarts it.
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
    if (!this.#service.isDead || this.#calls > MAX_CALLS) return;
    this.#boot();
    for (const consumer of this.#consumers) this.#attempt(() => this.#startConsumer(consumer));
  }

  /** Ends all trouble, and lets everybody read to the end. */
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
    if (error !== undefined && !/disk is full/.test(JSON.stringify(error, errorText))) {
      fail(JSON.stringify(error, errorText));
    }
  }

  #checkLength(): void {
    if (this.#calls > MAX_CALLS) fail(TOO_LONG);
  }

  /** Expects no flood: every change in the log was made by Messages since the log began. */
  #checkLog(): void {
    if (this.#store.generation() !== this.#generation) {
      this.#generation = this.#store.generation();
      this.#mutationsBefore = this.#mutationsAtStep;
    }
    if (this.#wrong !== undefined) fail(this.#wrong);
    const { recorded, moves } = this.#store;
    let made = 0;
    for (const [rowId, count] of this.#chat.mutations) {
      const ofRow = count - (this.#mutationsBefore.get(rowId) ?? 0);
      made += ofRow;
      const moved = moves.get(rowId) ?? 0;
      if (moved > ofRow) fail(`the print of row ${rowId} moved ${moved} times, of ${ofRow} changes`);
    }
    if (recorded > made) fail(`${recorded} changes were told of ${made}`);
  }
}

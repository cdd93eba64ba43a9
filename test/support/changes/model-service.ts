import { ChangeStream } from '../../../src/core/log/change-stream.ts';
import { Channel } from '../../../src/core/log/channel.ts';
import { Feed } from '../../../src/core/log/feed.ts';
import { Publisher } from '../../../src/core/log/publisher.ts';
import type { Clock } from '../../../src/core/model/ports/host-ports.ts';
import { ChangeDetection } from '../../../src/features/changes/detection.ts';
import type { FakeClock } from '../fake-clock.ts';
import { collectingLog } from '../log.ts';
import type { MemoryChangeStore } from './memory-change-store.ts';
import type { ModelChat } from './model-chat.ts';

/** Small, so that a short schedule reaches every limit. */
const LIMITS = { windowRows: 4, maxListed: 4, blocksUnlisted: 2 };

export interface Surroundings {
  readonly chat: ModelChat;
  readonly store: MemoryChangeStore;
  readonly clock: FakeClock;
  /** Called before each call to chat.db or state.db. It may throw, and may end this process. */
  readonly onCall: (service: ModelService, isWrite: boolean) => void;
  /** Called before changes are stored, or the log begins again. */
  readonly onLog?: (isBegin: boolean) => void;
  /** Delay of the reader thread's answers. */
  readonly lateByMs?: number;
}

/** One process of the service, connected as in `core/service.ts`. Once it is dead, nothing it does has an effect. */
export class ModelService {
  isDead = false;
  readonly log = collectingLog();
  readonly detection: ChangeDetection;
  readonly publisher: Publisher;
  readonly feed: Feed;

  constructor({ chat, store, clock: base, onCall, onLog, lateByMs = 30 }: Surroundings) {
    const guard = (isWrite: boolean): void => onCall(this, isWrite);
    const messages = guarded(chat, () => guard(false));
    const prints = guarded(chat.prints, () => guard(false));
    const state = guarded(store, (name, args) => {
      guard(WRITES.has(name));
      if (name === 'begin' || name === 'restart') onLog?.(true);
      if (name === 'record' && (args[0] as readonly unknown[]).length > 0) onLog?.(false);
    });
    const clock: Clock = {
      now: () => base.now(),
      monotonic: () => base.monotonic(),
      after: (ms, run) => base.after(ms, () => void (this.isDead || run())),
    };
    const { log } = this;
    const stream = new ChangeStream({ log: state, messages });
    const channel = new Channel();
    this.detection = new ChangeDetection({
      mode: 'auto',
      store: state,
      prints,
      background: {
        range: async (...range) => {
          await nextTurn();
          const read = prints.range(...range);
          await new Promise<void>((resolve) => void clock.after(lateByMs, resolve));
          return read;
        },
        origins: async (...range) => {
          await nextTurn();
          return prints.origins(...range);
        },
      },
      cursor: () => this.publisher.cursor,
      stream,
      publish: () => this.publisher.publishPending(),
      clock,
      log,
      limits: LIMITS,
    });
    const changes = { stream, printsUpTo: this.detection.printsUpTo.bind(this.detection) };
    this.publisher = new Publisher({ messages, channel, cursor: state, changes, clock, log });
    this.feed = new Feed({ channel, messages, changes: { stream, control: this.detection }, clock, log });
  }

  start(): void {
    this.detection.start();
    this.publisher.start();
    this.notice();
  }

  /** Reports a commit, or that chat.db is back, as the change detector does. */
  notice(): void {
    this.publisher.publishPending();
    this.detection.noteCommit();
  }
}

const WRITES: ReadonlySet<string> = new Set(['save', 'restart', 'begin', 'end', 'noteAsked', 'noteSwept', 'record']);

/** Returns the same object, with a call before each of its methods. */
function guarded<Target extends object>(
  target: Target,
  before: (name: string, args: readonly unknown[]) => void,
): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        before(String(name), args);
        return Reflect.apply(value, target, args);
      };
    },
  });
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

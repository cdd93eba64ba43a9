import type { Log } from '../domain/ports/host.ts';
import { RowAges } from '../events/log/row-ages.ts';
import { RunningTime } from '../events/log/running-time.ts';
import type { AwakeClock } from '../runtime/awake-clock.ts';
import type { Cleanup } from '../runtime/cleanup.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { rowAgeStore } from '../store/state/row-ages.ts';

interface RowAgesParts {
  readonly state: Sqlite;
  readonly awake: AwakeClock;
  /** Everything dated before the first start is history. */
  readonly isFirstStart: boolean;
  readonly closers: Cleanup;
  readonly log: Log;
}

/** Determines how old rows were when they arrived, and records when chat.db was watched. */
export function openRowAges({ state, awake, isFirstStart, closers, log }: RowAgesParts) {
  const store = rowAgeStore(state);
  const running = new RunningTime(awake, isFirstStart ? [{ fromMs: 0, toMs: awake.now() }] : store.spans());
  /** After a crash, the time since the last save counts as an outage. */
  const save = (): void => {
    try {
      store.saveSpans(running.spans);
    } catch (error) {
      log.error('could not store when chat.db was watched', { error });
    }
  };
  save();
  awake.onSleep((ms) => {
    running.noteSleep(ms);
    save();
  });
  closers.add('row ages', () => {
    running.end();
    save();
  });
  return {
    ages: new RowAges({ store, running, log }),
    /** Rows that arrived while chat.db was unreadable are not late. */
    noteHealth: (isConnected: boolean): void => {
      if (isConnected) running.begin();
      else running.end();
      save();
    },
  };
}

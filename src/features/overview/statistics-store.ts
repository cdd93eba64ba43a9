import type { StatisticKind, StatisticSpan } from '../../client/overview-types.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import type { StatisticCount, StatisticStore } from './ports.ts';

/** Stores the counters of `GET /stats` (decision Z1). */
export function statisticStore(database: Sqlite): StatisticStore {
  const times = database.prepare('SELECT since_ms, events_ms FROM statistic_time');
  const begin = database.prepare('INSERT OR IGNORE INTO statistic_time (one, since_ms) VALUES (1, ?)');
  const filled = database.prepare('UPDATE statistic_time SET events_ms = ? WHERE events_ms IS NULL');
  const add = database.prepare(
    `INSERT INTO statistic (kind, span, at_ms, subject, name, count) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  );
  const forget = database.prepare('DELETE FROM statistic WHERE span = ? AND at_ms < ?');
  const read = database.prepare(
    'SELECT subject, at_ms, name, count FROM statistic WHERE kind = ? AND span = ? AND at_ms >= ?',
  );
  const addAll = (counts: readonly StatisticCount[]): void => {
    for (const { kind, span, atMs, subject, name, count } of counts) add.run(kind, span, atMs, subject, name, count);
  };
  return {
    begin(nowMs) {
      begin.run(nowMs);
      return Number(times.get()?.[0]);
    },
    eventsFrom() {
      const fromMs = times.get()?.[1];
      return typeof fromMs === 'number' ? fromMs : undefined;
    },
    addPast(counts, fromMs) {
      database.transaction(() => {
        if (filled.run(fromMs) > 0) addAll(counts);
      });
    },
    add(counts, keptFrom) {
      database.transaction(() => {
        addAll(counts);
        for (const [span, fromMs] of Object.entries(keptFrom)) forget.run(span, fromMs);
      });
    },
    read: (kind: StatisticKind, span: StatisticSpan, fromMs: number) =>
      read.all(kind, span, fromMs).map(
        ([subject, atMs, name, count]): StatisticCount => ({
          kind,
          span,
          subject: String(subject),
          atMs: Number(atMs),
          name: String(name),
          count: Number(count),
        }),
      ),
  };
}

import type { CanaryRecord, CanaryStore } from '../../domain/ports/canary-ports.ts';
import type { Sqlite } from '../../runtime/sqlite.ts';
import { kept, recordOf } from './record.ts';
import { durably } from './state-database.ts';

const record = recordOf<CanaryRecord>({
  address: kept.text(),
  number: kept.text(),
  sentMs: kept.number(),
  outcome: kept.text(),
  problem: kept.orNull(kept.text()),
  arrivedMs: kept.orNull(kept.number()),
  delayMs: kept.orNull(kept.number()),
  deadSinceMs: kept.orNull(kept.number()),
});

/** Stores the last canary (decision AA4). */
export function canaryStore(database: Sqlite): CanaryStore {
  const select = database.prepare(`SELECT ${record.columns} FROM canary`);
  const replace = database.prepare(`INSERT ${record.insert('canary')}`);
  return {
    load() {
      const row = select.get();
      return row && record.read(row);
    },
    save: (canary) =>
      durably(database, () => {
        database.exec('DELETE FROM canary');
        replace.run(...record.values(canary));
      }),
  };
}

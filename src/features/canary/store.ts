import type { Sqlite } from '../../core/runtime/sqlite.ts';
import { columnTypes, recordOf } from '../../core/state/record.ts';
import { durably } from '../../core/state/state-database.ts';
import type { CanaryRecord, CanaryStore } from './ports.ts';

const record = recordOf<CanaryRecord>({
  address: columnTypes.text(),
  number: columnTypes.text(),
  sentMs: columnTypes.number(),
  outcome: columnTypes.text(),
  problem: columnTypes.orNull(columnTypes.text()),
  arrivedMs: columnTypes.orNull(columnTypes.number()),
  delayMs: columnTypes.orNull(columnTypes.number()),
  deadSinceMs: columnTypes.orNull(columnTypes.number()),
  lost: columnTypes.number(),
});

/** Stores the most recent canary to each address (decision AA4). */
export function canaryStore(database: Sqlite): CanaryStore {
  const select = database.prepare(`SELECT ${record.columns} FROM canary WHERE address = ?`);
  const remove = database.prepare('DELETE FROM canary WHERE address = ?');
  const replace = database.prepare(`INSERT ${record.insert('canary')}`);
  return {
    load(address) {
      const row = select.get(address);
      return row && record.read(row);
    },
    save: (canary) =>
      durably(database, () => {
        remove.run(canary.address);
        replace.run(...record.values(canary));
      }),
  };
}

import { randomBytes, randomUUID } from 'node:crypto';
import type { FleetStore } from '../../../core/model/ports/fleet-ports.ts';
import type { Sqlite } from '../../../core/runtime/sqlite.ts';

/**
 * Name of the agent's row in the table `consumer`. `cursorStore` moves the positions of all rows in that table after
 * chat.db was replaced.
 */
const CONSUMER = 'fleet';

/** Stores the state of a fleet's agent. The first read creates the row of the table `fleet`. */
export function fleetStore(database: Sqlite): FleetStore {
  const select = database.prepare('SELECT mac, epoch, stream FROM fleet');
  const insert = database.prepare('INSERT OR IGNORE INTO fleet (one, mac, epoch) VALUES (1, ?, ?)');
  const updateEpoch = database.prepare('UPDATE fleet SET epoch = ?');
  const updateStream = database.prepare('UPDATE fleet SET stream = ?');
  const selectPosition = database.prepare(`SELECT row_id, change FROM consumer WHERE name = '${CONSUMER}'`);
  const move = database.prepare(`INSERT OR REPLACE INTO consumer (name, row_id, change) VALUES ('${CONSUMER}', ?, ?)`);

  const row = (): { readonly mac: string; readonly epoch: string; readonly stream: string | undefined } => {
    let found = select.get();
    if (found === undefined) {
      insert.run(`mac-${randomBytes(6).toString('hex')}`, randomUUID());
      found = select.get() ?? [];
    }
    const [mac, epoch, stream] = found;
    return { mac: String(mac), epoch: String(epoch), stream: typeof stream === 'string' ? stream : undefined };
  };

  return {
    ownMac: () => row().mac,
    epoch: () => row().epoch,
    setEpoch: (epoch) => void updateEpoch.run(epoch),
    stream: () => row().stream,
    setStream: (created) => void updateStream.run(created),
    position() {
      const found = selectPosition.get();
      return found && { rowId: Number(found[0]), change: Number(found[1]) };
    },
    setPosition: ({ rowId, change }) => void move.run(rowId, change),
  };
}

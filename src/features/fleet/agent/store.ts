import { randomBytes } from 'node:crypto';
import type { Offset } from '../../../core/model/offset.ts';
import type { Sqlite } from '../../../core/runtime/sqlite.ts';
import { consumerPositions } from '../../../core/state/consumer-positions.ts';

/** Name of the publisher's row in the table `consumer`, whose positions move when chat.db was replaced. */
const CONSUMER = 'fleet';

/** The newest event that the stream took from this machine. */
export interface Mark {
  /** When the stream was created. */
  readonly created: string;
  readonly subject: string;
  /** The highest sequence that this machine knows; 0 for none. */
  readonly sequence: number;
}

export type AgentStore = ReturnType<typeof agentStore>;

/** Stores how far this machine has published. */
export function agentStore(database: Sqlite) {
  const select = database.prepare(
    'SELECT member, machine, since_ms, own, created, subject, sequence, late FROM fleet_agent',
  );
  const insert = database.prepare('INSERT OR IGNORE INTO fleet_agent (one, own) VALUES (1, ?)');
  const updateWho = database.prepare('UPDATE fleet_agent SET member = ?, machine = ?, since_ms = ?');
  const updateMark = database.prepare('UPDATE fleet_agent SET created = ?, subject = ?, sequence = ?');
  const updateLate = database.prepare('UPDATE fleet_agent SET late = late + 1');
  const positions = consumerPositions(database);
  insert.run(randomBytes(4).toString('hex'));
  const row = (): readonly unknown[] => select.get() ?? [];
  return {
    /** Returns the machine's own random name, for hardware without an id. */
    ownMachine: () => String(row()[3]),
    /** Returns when this machine first was this member, in Unix milliseconds. */
    since(member: string, machine: string, nowMs: number): number {
      const [knownMember, knownMachine, sinceMs] = row();
      if (knownMember === member && knownMachine === machine) return Number(sinceMs);
      updateWho.run(member, machine, nowMs);
      return nowMs;
    },
    position: () => positions.of(CONSUMER),
    setPosition: (offset: Offset) => positions.set(CONSUMER, offset),
    mark(): Mark | undefined {
      const [, , , , created, subject, sequence] = row();
      if (typeof created !== 'string' || typeof subject !== 'string') return undefined;
      return { created, subject, sequence: Number(sequence) };
    },
    setMark: ({ created, subject, sequence }: Mark) => void updateMark.run(created, subject, sequence),
    /** Number of rows that were older than the stream keeps when they could be published. */
    late: () => Number(row()[7]),
    addLate: () => void updateLate.run(),
  };
}

import { randomUUID } from 'node:crypto';
import { HOUR_MS } from '../../core/model/durations.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { ChatDatabase } from './chat-database.ts';
import type { Command } from './commands.ts';
import { type Delays, LATE_JOIN_AFTER_MS } from './delays.ts';
import { isSelfChat } from './own-messages.ts';

/** The columns of an outgoing row that the other person has read. */
const RECEIVED_BY_OTHER = { is_sent: 1, is_delivered: 1, is_read: 1 };

type Arrival = Extract<Command, { do: 'wake' | 'backfill' | 'burst' }>;

/** Inserts many messages in one transaction. For `wake`, a second transaction adds their chat joins later. */
export function arrive(
  database: ChatDatabase,
  command: Arrival,
  { clock, delays }: { readonly clock: Clock; readonly delays: Delays },
): void {
  const { from, count } = command;
  const chat = database.directChat(from);
  const dateMs = datesOf(command, clock.now());
  const rows = database.transaction(() =>
    Array.from({ length: count }, (_, index) => {
      const text = (command.do === 'backfill' && command.ownText) || undefined;
      const who = text === undefined ? { text: `${command.do} ${index}`, from } : { text, columns: RECEIVED_BY_OTHER };
      const message = { ...who, dateMs: dateMs(index) };
      return command.do === 'wake' ? database.message(message) : database.joinedMessage(chat, message);
    }),
  );
  if (command.do === 'backfill') for (const row of command.again ?? []) insertAgain(database, row);
  if (command.do !== 'wake') return;
  clock.after(command.joinAfterMs ?? delays.in(LATE_JOIN_AFTER_MS), () =>
    database.transaction(() => {
      for (const row of rows) if (database.guid(row) !== '') database.join(chat, row);
    }),
  );
}

/** Returns a function that converts a row's index to its date in Unix milliseconds. */
function datesOf(command: Arrival, nowMs: number): (index: number) => number {
  const { count } = command;
  if (command.do === 'burst') return () => nowMs;
  // The messages of a backfill are an hour apart. The newest is 25 hours old.
  if (command.do === 'backfill') return (index) => nowMs - (count - index + 24) * HOUR_MS;
  const nightMs = command.hours * HOUR_MS;
  return (index) => nowMs - nightMs + Math.floor((index * nightMs) / count);
}

/**
 * Inserts a copy of a message's row under a new guid, as iCloud was seen to do (claude-plugins, issue 5224). In the
 * conversation with oneself, marks the copy as incoming.
 */
function insertAgain(database: ChatDatabase, row: number): void {
  const chat = database.chatOf(row);
  if (chat === undefined) throw new Error(`row ${row} is in no chat`);
  const columns = database.sqlite
    .prepare("SELECT name FROM pragma_table_info('message') WHERE name NOT IN ('ROWID', 'guid')")
    .all()
    .map(([name]) => `"${String(name)}"`)
    .join();
  database.transaction(() => {
    database.sqlite
      .prepare(`INSERT INTO message (guid, ${columns}) SELECT ?, ${columns} FROM message WHERE ROWID = ?`)
      .run(randomUUID().toUpperCase(), row);
    const copy = database.newestRow();
    if (isSelfChat(database, chat)) database.update('message', copy, { is_from_me: 0 });
    database.join(chat, copy);
  });
}

import type { Clock } from '../domain/ports/host.ts';
import type { ChatDatabase } from './chat-database.ts';
import type { Command } from './commands.ts';
import { type Delays, LATE_JOIN_AFTER_MS } from './delays.ts';

const HOUR_MS = 3_600_000;

type Arrival = Extract<Command, { do: 'wake' | 'backfill' | 'burst' }>;

/** Inserts many incoming messages in one transaction; after a sleep their chat joins follow in another one. */
export function arrive(
  database: ChatDatabase,
  command: Arrival,
  { clock, delays }: { readonly clock: Clock; readonly delays: Delays },
): void {
  const { from, count } = command;
  const chat = database.directChat(from);
  const dateMs = datesOf(command, clock.now());
  const rows = database.transaction(() =>
    Array.from({ length: count }, (_, place) => {
      const message = { text: `${command.do} ${place}`, from, dateMs: dateMs(place) };
      return command.do === 'wake' ? database.message(message) : database.joinedMessage(chat, message);
    }),
  );
  if (command.do !== 'wake') return;
  clock.after(command.joinAfterMs ?? delays.in(LATE_JOIN_AFTER_MS), () =>
    database.transaction(() => {
      for (const row of rows) database.join(chat, row);
    }),
  );
}

/** The date of each row by its place, Unix milliseconds. */
function datesOf(command: Arrival, nowMs: number): (place: number) => number {
  const { count } = command;
  if (command.do === 'burst') return () => nowMs;
  // iCloud fills in messages an hour apart, the newest a day old.
  if (command.do === 'backfill') return (place) => nowMs - (count - place + 24) * HOUR_MS;
  const nightMs = command.hours * HOUR_MS;
  return (place) => nowMs - nightMs + Math.floor((place * nightMs) / count);
}

// Events as they happen: one WebSocket for the whole page, and the newest events.

import { signal } from '@preact/signals';
import { type ChangeEvent, isRowEvent, type Event as RowEvent } from '../../../core/model/event.ts';
import type { Message } from '../../../core/model/message.ts';
import { call } from './api.ts';
import { Line, type LineChange, type Position } from './line.ts';
import { idOn, macOf, placeName } from './place.ts';
import { PolledLine } from './polled-line.ts';
import { knownStatus, partsOfEvents } from './service.ts';

/** An event as the stream sends it; with its offset unless changes are switched off. */
export type LiveEvent = (RowEvent | ChangeEvent) & { readonly offset?: string };

/** An event, its time, and a unique number. The time is exact if the event arrived while the page was open. */
export interface Taken {
  readonly event: LiveEvent;
  readonly atMs: number;
  readonly isExact: boolean;
  readonly key: string;
}

const KEPT = 10_000;
const BEFORE = 100;

/** The events so far, newest first. */
let taken: Taken[] = [];
let count = 0;
let hasEarlier = false;
let line: Line | PolledLine | undefined;
const takers = new Set<(event: LiveEvent) => void>();
/** `connecting` until the page first listens. */
export const liveState = signal<'connecting' | 'open' | 'closed'>('connecting');
let receivesChanges = false;

export const takenEvents = (): readonly Taken[] => taken;

/** The messages of the newest events. Key: that of `idOn`. */
const messages = new Map<string, Message>();

export const messageTaken = (id: string, mac?: string): Message | undefined => messages.get(idOn(id, mac));

function noteMessage({ type, data }: LiveEvent): void {
  if (type !== 'messages.changed' && type.startsWith('message.') && 'body' in data && data.body) {
    messages.set(idOn(data.id, macOf(data)), data);
  }
  if (messages.size > KEPT) messages.delete(messages.keys().next().value ?? '');
}
/** Reports whether changes of existing messages arrive as events. */
export const areChangesLive = (): boolean => receivesChanges;

/** Calls `take` with each event from now on. */
export function onEvent(take: (event: LiveEvent) => void): void {
  takers.add(take);
}

/**
 * Listens for events after a position. Calls `lose` if the key is refused. Calls `restart` if the service cannot resume
 * after the last event, so that the page must load everything again.
 */
export function listen(position: Position, lose: () => void, restart: () => unknown): void {
  line?.close();
  receivesChanges = position.hasChanges;
  // The way to a Mac behind the service passes answers on, but no WebSocket.
  const Kind = placeName === undefined ? Line : PolledLine;
  const notify = (now: LineChange): void => {
    if (now === 'expired') void restart();
    else if (now === 'refused') lose();
    else liveState.value = now;
  };
  line = new Kind({ position, take, notify });
  line.open();
}

export function stopListening(): void {
  line?.close();
  line = undefined;
}

function take(event: LiveEvent): void {
  // A row that came while the earlier events were being read can be among them.
  const row = rowOf(event);
  if (row !== undefined) taken = taken.filter((one) => one.isExact || rowOf(one.event) !== row);
  add(event, Date.now(), true);
  for (const each of takers) each(event);
}

function add(event: LiveEvent, atMs: number, isExact: boolean): void {
  count += 1;
  noteMessage(event);
  taken.unshift({ event, atMs, isExact, key: String(count) });
  if (taken.length > KEPT) taken.length = KEPT;
}

/** Returns the id of the row that an event reports; undefined for a change, of which one row has many. */
const rowOf = (event: LiveEvent): string | undefined =>
  isRowEvent(event) ? idOn(event.data.id, macOf(event.data)) : undefined;

/** Reads the newest events from before the page was opened. Does nothing once they are read. */
export async function readEarlier(): Promise<void> {
  const { offset, earlier, row_id: row } = knownStatus().newest_event;
  // Nobody can count back from an offset that is no row.
  if (hasEarlier || (offset !== undefined && earlier === undefined)) return;
  hasEarlier = true;
  const include = partsOfEvents() && `&include=${partsOfEvents()}`;
  const path = `events?after=${earlier ?? Math.max(0, row - BEFORE)}&limit=${BEFORE}${include}`;
  const events = await call<readonly RowEvent[]>(path).catch(() => undefined);
  if (events === undefined) {
    hasEarlier = false;
    return;
  }
  const known = new Set(taken.map(({ event }) => rowOf(event)));
  const before = events
    .filter((event) => !known.has(rowOf(event)))
    .map((event) => {
      count += 1;
      noteMessage(event);
      return { event, atMs: Date.parse(event.data.timestamp), isExact: false, key: String(count) };
    });
  taken = [...taken, ...before.reverse()];
}

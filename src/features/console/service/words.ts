// Times, numbers and names as people read them.

import { DAY_MS, MINUTE_MS } from '../../../core/model/durations.ts';
import { spanOf } from '../../../core/model/figures.ts';
import type { Names } from '../../../core/model/names.ts';
import { today } from './today.ts';

/** Returns the Address Book's name for an address, or the address if it has no name there. */
export const personOf = (address: string, names: Names = {}): string =>
  Object.hasOwn(names, address) ? (names[address] ?? address) : address;

/**
 * Returns a formatter. It is made at its first use and kept, because making one takes longer than a hundred formats.
 */
function formatter(options: Intl.DateTimeFormatOptions): (time: Date) => string {
  let format: Intl.DateTimeFormat | undefined;
  return (time) => {
    if (Number.isNaN(time.getTime())) return String(time);
    format ??= new Intl.DateTimeFormat([], options);
    return format.format(time);
  };
}

const clock = formatter({ timeStyle: 'short' });
const exactClock = formatter({ timeStyle: 'medium' });
const millisecondClock = formatter({
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});
const digits = formatter({ dateStyle: 'short' });
const dateAndClock = formatter({ dateStyle: 'medium', timeStyle: 'short' });
const dateAndExactClock = formatter({ dateStyle: 'medium', timeStyle: 'medium' });
const weekday = formatter({ weekday: 'long' });
const shortDate = formatter({ month: 'short', day: 'numeric' });
const dayAndDate = formatter({ weekday: 'long', month: 'long', day: 'numeric' });
const dayAndYear = formatter({ weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' });

/** Makes the first formatter of the page, which takes the browser much longer than the others. */
export const prepareTimes = (): void => void clock(new Date());

export const hourOf = (at: string | number | Date): string => clock(new Date(at));

/** Returns, for example, "Nov 29". */
export const shortDateOf = (at: string): string => shortDate(new Date(at));

/** Returns the time of day, preceded by the date unless that is today. */
export function timeOf(at: string | number): string {
  const time = new Date(at);
  return isToday(time) ? clock(time) : dateAndClock(time);
}

/** Formats a time for a field of the type `datetime-local`, which shows the browser's time zone. */
export function fieldTimeOf(atMs: number): string {
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

/**
 * Returns the time of day (today), "Yesterday", the weekday (less than six days ago), or the date in digits (older).
 */
export function shortTimeOf(at: string | number): string {
  const time = new Date(at);
  if (isToday(time)) return clock(time);
  if (isToday(time, 1)) return 'Yesterday';
  if (Date.now() - time.getTime() < 6 * DAY_MS) return weekday(time);
  return digits(time);
}

/** Returns the time with its date and seconds, for somebody who points at a shorter one. */
export const fullTimeOf = (at: string | number): string => dateAndExactClock(new Date(at));

/**
 * Returns the time with seconds, and with milliseconds if `isPrecise`. Adds the day unless it is today, and the year
 * unless it is the current year.
 */
export function exactTimeOf(at: string | number, isPrecise = false): string {
  const time = new Date(at);
  const clocked = (isPrecise ? millisecondClock : exactClock)(time);
  if (isToday(time)) return clocked;
  return `${(isThisYear(time) ? shortDate : digits)(time)}, ${clocked}`;
}

/** Returns "Today", "Tomorrow", "Yesterday", or the date with its weekday. */
export function dayOf(at: string | number): string {
  const time = new Date(at);
  if (isToday(time)) return 'Today';
  if (isToday(time, 1)) return 'Yesterday';
  if (isToday(time, -1)) return 'Tomorrow';
  return (isThisYear(time) ? dayAndDate : dayAndYear)(time);
}

const isThisYear = (time: Date): boolean => time.getFullYear() === new Date().getFullYear();

/** Reports whether a time falls on the date `daysAgo` days before today, by default on today. */
function isToday(time: Date, daysAgo = 0): boolean {
  // Makes a component that shows the time show it again when the day ends.
  void today.value;
  const day = new Date();
  day.setDate(day.getDate() - daysAgo);
  return time.toDateString() === day.toDateString();
}

/** Returns, for example, "12 s ago". */
export const agoOf = (at: string | number): string => `${spanOf((Date.now() - new Date(at).getTime()) / 1000)} ago`;

/** Returns, for example, "Ana, Ben and Cho". */
export const listed = (items: readonly string[]): string =>
  items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;

/** Returns the readable part of a conversation's id. */
export const addressIn = (id: string): string => id.split(/;[+-];/).at(-1) ?? id;

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// Times, numbers and names as people read them.

/** @typedef {Readonly<Record<string, string>>} Names */

/**
 * Returns the Address Book's name for an address, or the address if it has no name there.
 * @param {string} address
 * @param {Names} [names]
 */
export const personOf = (address, names = {}) =>
  Object.hasOwn(names, address) ? (names[address] ?? address) : address;

/** @param {number} count */
export const number = (count) => count.toLocaleString('en-US');

/**
 * Returns, for example, "1 message" or "3 messages".
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/**
 * Returns the time of day, preceded by the date unless that is today.
 * @param {string | number} at
 */
export function timeOf(at) {
  const time = new Date(at);
  return isToday(time)
    ? time.toLocaleTimeString([], { timeStyle: 'short' })
    : time.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

/**
 * Returns the time of day (today), "Yesterday", the weekday (less than six days ago), or the date (older).
 * @param {string | number} at
 */
export function shortTimeOf(at) {
  const time = new Date(at);
  if (isToday(time)) return time.toLocaleTimeString([], { timeStyle: 'short' });
  if (isToday(time, 1)) return 'Yesterday';
  if (Date.now() - time.getTime() < 6 * 86_400_000) return time.toLocaleDateString([], { weekday: 'long' });
  return time.toLocaleDateString([], { dateStyle: 'medium' });
}

/**
 * Returns the time with seconds. Adds the day unless it is today, and the year unless it is the current year.
 * @param {string | number} at
 */
export function exactTimeOf(at) {
  const time = new Date(at);
  const clock = time.toLocaleTimeString([], { timeStyle: 'medium' });
  if (isToday(time)) return clock;
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  return `${time.toLocaleDateString([], isThisYear ? { month: 'short', day: 'numeric' } : { dateStyle: 'medium' })}, ${clock}`;
}

/**
 * Returns "Today", "Yesterday", or the date with its weekday.
 * @param {string | number} at
 */
export function dayOf(at) {
  const time = new Date(at);
  if (isToday(time)) return 'Today';
  if (isToday(time, 1)) return 'Yesterday';
  const year = time.getFullYear() === new Date().getFullYear() ? undefined : 'numeric';
  return time.toLocaleDateString([], { weekday: 'long', month: 'long', day: 'numeric', year });
}

/**
 * Reports whether a time falls on the date `daysAgo` days before today, by default on today.
 * @param {Date} time
 */
function isToday(time, daysAgo = 0) {
  const day = new Date();
  day.setDate(day.getDate() - daysAgo);
  return time.toDateString() === day.toDateString();
}

/**
 * Returns a duration in one unit, rounded down.
 * @param {number} seconds
 */
export function spanOf(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/**
 * Returns, for example, "12 s ago".
 * @param {string | number} at
 */
export const agoOf = (at) => `${spanOf((Date.now() - new Date(at).getTime()) / 1000)} ago`;

/** @param {number} bytes */
export function bytesOf(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/**
 * Returns, for example, "Ana, Ben and Cho".
 * @param {readonly string[]} items
 */
export const listed = (items) =>
  items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;

/**
 * Returns the readable part of a conversation's id.
 * @param {string} id
 */
export const addressIn = (id) => id.split(/;[+-];/).at(-1) ?? id;

/**
 * Returns an error's message.
 * @param {unknown} error
 */
export const reasonOf = (error) => (error instanceof Error ? error.message : String(error));

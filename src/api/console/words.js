// Times, numbers and names as people read them.

/** @typedef {Readonly<Record<string, string>>} Names */

/**
 * The name of an address, if the Address Book has one.
 * @param {string} address
 * @param {Names} [names]
 */
export const personOf = (address, names = {}) =>
  Object.hasOwn(names, address) ? (names[address] ?? address) : address;

/** @param {number} count */
export const number = (count) => count.toLocaleString('en-US');

/**
 * "1 message", "3 messages".
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** Only the time of day if it is today.
 * @param {string | number} at */
export function timeOf(at) {
  const time = new Date(at);
  return isToday(time)
    ? time.toLocaleTimeString([], { timeStyle: 'short' })
    : time.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

/** Only the time of day if it is today, the day if it was this week, else the date.
 * @param {string | number} at */
export function shortTimeOf(at) {
  const time = new Date(at);
  if (isToday(time)) return time.toLocaleTimeString([], { timeStyle: 'short' });
  const days = (Date.now() - time.getTime()) / 86_400_000;
  if (days < 2) return 'Yesterday';
  if (days < 7) return time.toLocaleDateString([], { weekday: 'long' });
  return time.toLocaleDateString([], { dateStyle: 'medium' });
}

/** With seconds, the day unless it is today, and the year unless it is this one.
 * @param {string | number} at */
export function exactTimeOf(at) {
  const time = new Date(at);
  const clock = time.toLocaleTimeString([], { timeStyle: 'medium' });
  if (isToday(time)) return clock;
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  return `${time.toLocaleDateString([], isThisYear ? { month: 'short', day: 'numeric' } : { dateStyle: 'medium' })}, ${clock}`;
}

/** @param {Date} time */
const isToday = (time) => time.toDateString() === new Date().toDateString();

/** A duration, roughly.
 * @param {number} seconds */
export function spanOf(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** "12 s ago".
 * @param {string | number} at */
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

/** "Ana, Ben and Cho".
 * @param {readonly string[]} items */
export const listed = (items) =>
  items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;

/** The readable part of a conversation's id.
 * @param {string} id */
export const addressIn = (id) => id.split(/;[+-];/).at(-1) ?? id;

/** An error's own words.
 * @param {unknown} error */
export const reasonOf = (error) => (error instanceof Error ? error.message : String(error));

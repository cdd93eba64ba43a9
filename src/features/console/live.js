// Events as they happen: one WebSocket for the whole page, and the newest events.

import { call } from './api.js';
import { Line } from './line.js';
import { isHub, knownStatus, partsToInclude } from './service.js';

/** @import { StatusReport } from '../../core/model/status.ts' */

/**
 * An event, its time, and a unique number. The time is exact if the event arrived while the page was open.
 * @typedef {{ readonly event: any, readonly atMs: number, readonly isExact: boolean, readonly key: string }} Taken
 */

const KEPT = 10_000;
const BEFORE = 100;
const CHANGES = new Set(['message.updated', 'message.removed', 'messages.changed']);

/** The events so far, newest first. @type {Taken[]} */
let taken = [];
let count = 0;
let hasEarlier = false;
/** @type {Line | undefined} */
let line;
/** @type {Set<(event: any) => void>} */
const takers = new Set();
/** @type {Set<(state: string) => void>} */
const watchers = new Set();
let state = 'connecting';
let receivesChanges = false;

export const takenEvents = () => taken;

/** The messages of the newest events, by id. @type {Map<string, any>} */
const messages = new Map();

/** @param {string} id */
export const messageTaken = (id) => messages.get(id);

/** @param {any} event */
function noteMessage({ type, data }) {
  if (type.startsWith('message.') && data.body) messages.set(data.id, data);
  if (messages.size > KEPT) messages.delete(messages.keys().next().value ?? '');
}
export const liveState = () => state;
/** Reports whether changes of existing messages arrive as events. */
export const areChangesLive = () => receivesChanges;

/**
 * Calls `take` with each event from now on.
 * @param {(event: any) => void} take
 */
export function onEvent(take) {
  takers.add(take);
}

/**
 * Calls `watch` with each new state of the connection: `open`, or a text such as `closed; trying again in 5 s`.
 * @param {(state: string) => void} watch
 */
export function onLiveState(watch) {
  watchers.add(watch);
}

/**
 * Listens for events after a position. Calls `lose` if the key is refused. Calls `restart` if the service cannot resume
 * after the last event, so that the page must load everything again.
 * @param {{ readonly after: string | number, readonly hasChanges: boolean }} position
 * @param {() => void} lose
 * @param {() => unknown} restart
 */
export function listen(position, lose, restart) {
  line?.close();
  receivesChanges = position.hasChanges;
  line = new Line(position, take, (now, waitS) => {
    if (now === 'expired') void restart();
    else if (now === 'refused') lose();
    else setState(now === 'open' ? 'open' : `closed; trying again in ${waitS} s`);
  });
  line.open();
}

export function stopListening() {
  line?.close();
  line = undefined;
}

/** @param {string} now */
function setState(now) {
  state = now;
  for (const watch of watchers) watch(now);
}

/** @param {any} event */
function take(event) {
  add(event, Date.now(), true);
  for (const each of takers) each(event);
}

/**
 * @param {any} event
 * @param {number} atMs
 * @param {boolean} isExact
 */
function add(event, atMs, isExact) {
  count += 1;
  noteMessage(event);
  taken.unshift({ event, atMs, isExact, key: String(count) });
  if (taken.length > KEPT) taken.length = KEPT;
}

/** Reads the newest events from before the page was opened. Later calls do nothing. */
export async function readEarlier() {
  if (hasEarlier || isHub()) return;
  hasEarlier = true;
  const row = knownStatus().newest_event.row_id;
  const path = `events?after=${Math.max(0, row - BEFORE)}&limit=${BEFORE}&include=${partsToInclude()}`;
  /** @type {any[]} */
  const events = await call(path).catch(() => []);
  const known = new Set(taken.filter(({ event }) => !CHANGES.has(event.type)).map(({ event }) => event.data.id));
  const earlier = events
    .filter(({ data }) => !known.has(data.id))
    .map((event) => {
      count += 1;
      noteMessage(event);
      return { event, atMs: Date.parse(event.data.timestamp), isExact: false, key: String(count) };
    });
  taken = [...taken, ...earlier.reverse()];
}

// Keeps the badge in the navigation up to date: the number of sends that wait for a decision. If there are none, the
// service answers a request only when a send is held or `WAIT_S` has passed, so that the badge costs about one request
// a minute.

import { setBadge } from '../app/shell.js';
import { call } from '../service/api.ts';

const WAIT_S = 50;
const AGAIN_MS = 15_000;

/** @type {Set<(held: readonly any[]) => void>} */
const watchers = new Set();
let isWatching = false;

/**
 * Calls `watch` with the held sends after each successful request for them.
 * @param {(held: readonly any[]) => void} watch
 */
export function onHeld(watch) {
  watchers.add(watch);
}

/** @param {number} count */
export const noteHeld = (count) => setBadge('approvals', count, 'waiting');

/** @param {number} count number of held sends in the status */
export function watchHeld(count) {
  noteHeld(count);
  if (isWatching) return;
  isWatching = true;
  void watch(count);
}

/** @param {number} before */
async function watch(before) {
  let count = before;
  while (isWatching) {
    if (count > 0 || document.hidden) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    if (document.hidden) continue;
    try {
      // With `wait`, the service answers once a send is held, or after `WAIT_S` with an empty list.
      const held = await call(`approvals?state=held${count > 0 ? '' : `&wait=${WAIT_S}`}`, { isByItself: true });
      count = held.length;
      noteHeld(count);
      for (const watcher of watchers) watcher(held);
    } catch {
      // Waits before the loop sends the request again.
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

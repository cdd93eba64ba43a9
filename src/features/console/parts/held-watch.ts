// Keeps the badge in the navigation up to date: the number of sends that wait for a decision. If there are none, the
// service answers a request only when a send is held or `WAIT_S` has passed, so that the badge costs about one request
// a minute.

import type { Approval } from '../../../client/access-types.ts';
import { call, currentKey } from '../service/api.ts';
import { setBadge } from './frame.ts';

const WAIT_S = 50;
const AGAIN_MS = 15_000;

type Watcher = (held: readonly Approval[]) => void;

const watchers = new Set<Watcher>();
let isWatching = false;

/** Calls `watcher` with the held sends after each successful request for them. */
export function onHeld(watcher: Watcher): void {
  watchers.add(watcher);
}

export const noteHeld = (count: number): void => setBadge('approvals', count, 'waiting');

/** `count` is the number of held sends in the status. */
export function watchHeld(count: number): void {
  if (!isWatching || count > 0) noteHeld(count);
  if (isWatching) return;
  isWatching = true;
  void watch(count);
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, AGAIN_MS));

/** Asks until the page has no key any more. With another one, it is loaded again. */
async function watch(before: number): Promise<void> {
  let count = before;
  while (currentKey() !== '') {
    if (count > 0 || document.hidden) await pause();
    if (document.hidden || currentKey() === '') continue;
    try {
      // With `wait`, the service answers once a send is held, or after `WAIT_S` with an empty list.
      const path = `approvals?state=held${count > 0 ? '' : `&wait=${WAIT_S}`}`;
      const held = await call<readonly Approval[]>(path, { isByItself: true });
      count = held.length;
      noteHeld(count);
      for (const watcher of watchers) watcher(held);
    } catch {
      // Waits before the loop sends the request again.
      await pause();
    }
  }
}

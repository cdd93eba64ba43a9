// Whether the service answers and can read Messages.

import type { StatusReport } from '../../../core/model/status.ts';
import { connection } from '../parts/frame.ts';
import { call, isUnreachable, statusOf } from '../service/api.ts';
import { liveState } from '../service/live.ts';
import { placeName } from '../service/place.ts';
import { serves } from '../service/service.ts';
import { reasonOf } from '../service/words.ts';
import { health } from './sign-in.tsx';

/** Interval between checks. It is long, because each check counts towards the request limit. */
const EVERY_MS = 60_000;
/** Time until the next check while something does not answer. */
const AGAIN_MS = 10_000;

let timer: ReturnType<typeof setTimeout> | undefined;

function checkIn(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void checkHealth({ isByItself: true }), ms);
}

/** Shows whether the service answers and can read Messages, and the reason if not. */
export async function checkHealth({ isByItself = false } = {}): Promise<void> {
  try {
    showBackend((await call<Pick<StatusReport, 'backend'>>('health', { isByItself })).backend);
  } catch (error) {
    if (statusOf(error) === 429) return checkIn(AGAIN_MS);
    if (isUnreachable(error)) showLost();
    else show('bad', reasonOf(error), AGAIN_MS);
    health.value = { isGood: false, text: reasonOf(error) };
  }
}

/** Shows a state until the next check. */
function show(state: 'good' | 'warning' | 'bad', text: string, ms = EVERY_MS): void {
  connection.value = { state, text };
  checkIn(ms);
}

export function showBackend({ connected: isConnected, message }: StatusReport['backend']): void {
  const text = message ?? (isConnected ? 'Connected' : 'no reason given');
  const can = serves('getMessage') ? 'read your messages' : 'read the events';
  if (!isConnected) show('bad', `Postern cannot ${can}: ${text}`);
  else if (message === null && liveState.value === 'closed') {
    show('warning', 'New events do not arrive here for now. This page tries again by itself.', AGAIN_MS);
  } else show(message === null ? 'good' : 'warning', text);
  health.value = {
    isGood: isConnected,
    text: isConnected ? 'Postern is running' : `Postern is running, but: ${text}`,
  };
}

/** Says that the service does not answer for now. */
export const showLost = (): void =>
  show('bad', `${placeName ?? 'Postern'} does not answer. This page reconnects by itself.`, AGAIN_MS);

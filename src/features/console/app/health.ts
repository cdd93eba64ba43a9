// Whether the service answers and can read Messages.

import type { StatusReport } from '../../../core/model/status.ts';
import { call, statusOf } from '../service/api.ts';
import { placeName } from '../service/place.ts';
import { serves } from '../service/service.ts';
import { reasonOf } from '../service/words.ts';
import { showConnection } from './shell.tsx';
import { health } from './sign-in.tsx';

/** Shows whether the service answers and can read Messages, and the reason if not. */
export async function checkHealth({ isByItself = false } = {}): Promise<void> {
  try {
    showBackend((await call<Pick<StatusReport, 'backend'>>('health', { isByItself })).backend);
  } catch (error) {
    if (isByItself && [0, 429].includes(statusOf(error) ?? -1)) return;
    showConnection('bad', reasonOf(error));
    health.value = { isGood: false, text: reasonOf(error) };
  }
}

export function showBackend({ connected: isConnected, message }: StatusReport['backend']): void {
  const text = message ?? (isConnected ? 'Connected' : 'no reason given');
  const can = serves('getMessage') ? 'read your messages' : 'read the events';
  if (!isConnected) showConnection('bad', `Postern cannot ${can}: ${text}`);
  else showConnection(message === null ? 'good' : 'warning', text);
  health.value = {
    isGood: isConnected,
    text: isConnected ? 'Postern is running' : `Postern is running, but: ${text}`,
  };
}

/** Says that the service does not answer for now. */
export const showLost = (): void =>
  showConnection('bad', `${placeName ?? 'Postern'} does not answer. This page reconnects by itself.`);

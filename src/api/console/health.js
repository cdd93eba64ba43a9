import { call } from './api.js';
import { element } from './elements.js';

/** Rarely, because it counts toward the limit; a lost WebSocket checks at once. */
const EVERY_MS = 60_000;

/** Shows whether the service answers and can read Messages, and why not. */
export async function showHealth(options) {
  const line = element('health');
  const show = (state, text) => {
    line.dataset.state = state;
    line.textContent = text;
  };
  try {
    const { backend } = await call('health', options);
    if (!backend.connected) show('bad', `not connected: ${backend.message ?? 'no reason given'}`);
    else if (backend.message !== null) show('warning', backend.message);
    else show('good', 'connected');
  } catch (error) {
    if (error.status !== 0 || options?.isByItself !== true) show('bad', error.message);
  }
}

export function watchHealth() {
  void showHealth();
  setInterval(() => void showHealth({ isByItself: true }), EVERY_MS);
}

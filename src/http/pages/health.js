import { call } from './api.js';
import { element } from './elements.js';

const EVERY_MS = 15_000;

/** Shows whether the service is there and can read Messages, and why not. */
export async function showHealth() {
  const line = element('health');
  const show = (state, text) => {
    line.dataset.state = state;
    line.textContent = text;
  };
  try {
    const { backend } = await call('health');
    if (!backend.connected) show('bad', `not connected: ${backend.message ?? 'no reason given'}`);
    else if (backend.message !== null) show('warning', backend.message);
    else show('good', 'connected');
  } catch (error) {
    show('bad', error.message);
  }
}

export function watchHealth() {
  void showHealth();
  setInterval(() => void showHealth(), EVERY_MS);
}

// A person's preferences on this device, kept in the browser once changed.

import { element } from './elements.js';
import { isRemembered, keepKey } from './kept-key.js';

const SCHEMES = ['light', 'dark'];

export const enterSends = () => localStorage.getItem('postern-enter') !== 'breaks';

/** Before anything is shown. */
export function applyScheme() {
  const scheme = localStorage.getItem('postern-scheme');
  if (SCHEMES.includes(scheme)) document.documentElement.dataset.scheme = scheme;
  else delete document.documentElement.dataset.scheme;
}

export function offerSettings(currentKey) {
  const scheme = element('scheme');
  scheme.value = localStorage.getItem('postern-scheme') ?? 'auto';
  scheme.addEventListener('change', () => {
    keep('postern-scheme', scheme.value, 'auto');
    applyScheme();
  });
  const enter = element('enter-sends');
  enter.checked = enterSends();
  enter.addEventListener('change', () => {
    keep('postern-enter', enter.checked ? 'sends' : 'breaks', 'sends');
    showHint();
  });
  const remembers = element('remembers');
  remembers.addEventListener('change', () => keepKey(currentKey(), remembers.checked));
  showHint();
}

export function showSettings({ version, uptime_s: seconds }) {
  element('remembers').checked = isRemembered();
  element('version').textContent = `Postern ${version}, running for ${spanOf(seconds)}.`;
}

function showHint() {
  const modifier = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl+';
  element('body').placeholder = enterSends() ? 'Message' : `Message (${modifier}Enter sends)`;
}

function keep(name, value, usual) {
  if (value === usual) localStorage.removeItem(name);
  else localStorage.setItem(name, value);
}

function spanOf(seconds) {
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

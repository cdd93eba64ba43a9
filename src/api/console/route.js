// The current view and the item in it. It is in the address, so that Back, a reload and a bookmark work.

const VIEWS = ['messages', 'events', 'webhooks', 'macs', 'access', 'settings'];

/** `#/c/ID`, `#/c/ID/MESSAGE`, `#/events`, `#/webhooks`, … */
export function currentRoute() {
  const [, first = '', ...rest] = location.hash.split('/');
  const [id, message] = rest.map(decoded);
  if (first === 'c' && id !== undefined) return { view: 'messages', id, message };
  return { view: VIEWS.includes(first) ? first : 'messages' };
}

export const pathOfConversation = (id, message) =>
  `#/c/${encodeURIComponent(id)}${message === undefined ? '' : `/${encodeURIComponent(message)}`}`;

/** Goes there. `replaces` leaves no step for Back. */
export function goTo(hash, { replaces = false } = {}) {
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
  else if (replaces) location.replace(hash);
  else location.hash = hash;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

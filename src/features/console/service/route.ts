import { decodedPart } from '../../../core/model/parsed-url.ts';
// The current view and the item in it. Both are in the address, so that Back, a reload and a bookmark work.

export interface Route {
  readonly view: string;
  readonly id?: string | undefined;
  readonly item?: string | undefined;
  readonly query: URLSearchParams;
}

/**
 * A view. Its element stays in the document once it is made. `show` is called whenever the address leads to the view.
 */
export interface View {
  readonly root: HTMLElement;
  readonly show: (route: Route) => unknown;
  /** Ends the view, which has left the document. */
  readonly end?: () => void;
}

/** The views that there are for the key and the service. The first one is shown if the address names none of them. */
let views: readonly string[] = ['overview', 'messages', 'events', 'webhooks', 'approvals', 'keys', 'audit', 'settings'];

export function setViews(names: readonly string[]): void {
  views = names;
}

/** Parses `#/c/ID`, `#/c/ID/MESSAGE`, `#/events`, `#/webhooks/ID`, `#/keys/new?step=2`, … */
export function currentRoute(): Route {
  const [path = '', search = ''] = location.hash.split('?');
  const [, first = '', ...rest] = path.split('/');
  const [id, item] = rest.map(decodedPart);
  const query = new URLSearchParams(search);
  const isConversation = first === 'c' && id !== undefined;
  const name = isConversation ? 'messages' : first;
  const [home = name] = views;
  if (!views.includes(name)) return { view: home, query };
  return { view: name, id: first === 'messages' ? undefined : id, item, query };
}

export const pathOfConversation = (id: string, message?: string): string =>
  `#/c/${encodeURIComponent(id)}${message === undefined ? '' : `/${encodeURIComponent(message)}`}`;

/**
 * Goes to an address. With `replaces`, the address takes the place of the current one in the history, so Back skips the
 * current one.
 */
export function goTo(hash: string, { replaces = false } = {}): void {
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
  else if (replaces) location.replace(hash);
  else location.hash = hash;
}

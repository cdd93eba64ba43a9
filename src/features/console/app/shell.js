// The frame around the views: navigation, badges, and the state of the connection.

import { element, fill, h, icon } from '../parts/old/dom.js';
import { currentRoute } from '../service/route.ts';
import { isDemo, isHub, isOwner, knownStatus, macs, may } from '../service/service.ts';
import { counted } from '../service/words.ts';

/**
 * @typedef {{ readonly view: string, readonly icon: string, readonly text: string, readonly isHere: () => boolean }} NavigationItem
 */

const hasKeys = () => !isHub() && isOwner();

/** @type {readonly NavigationItem[]} */
const MAIN = [
  { view: 'overview', icon: 'home', text: 'Overview', isHere: () => isHub() || isOwner() },
  { view: 'messages', icon: 'chat', text: 'Messages', isHere: () => may('read') },
  { view: 'events', icon: 'pulse', text: 'Events', isHere: () => may('events') },
  { view: 'webhooks', icon: 'hook', text: 'Webhooks', isHere: () => may('webhooks') },
];
/** @type {readonly NavigationItem[]} */
const ACCESS = [
  { view: 'approvals', icon: 'hand', text: 'Approvals', isHere: () => !isHub() && may('approve') },
  { view: 'keys', icon: 'key', text: 'Keys', isHere: hasKeys },
  { view: 'audit', icon: 'log', text: 'Audit log', isHere: hasKeys },
];
const SETTINGS = { view: 'settings', icon: 'gear', text: 'Settings', isHere: () => true };
/**
 * Views in the tab bar of a phone. The bar has room for five tabs. The fifth tab is Settings, which has the label More
 * there and lists the remaining views.
 */
const TABS = ['overview', 'messages', 'approvals', 'events'];

/** @type {Map<string, { readonly count: number, readonly words: string }>} */
const badges = new Map();

/** Returns the navigation items that the signed-in key may visit. */
export const navigationItems = () => [...MAIN, ...ACCESS].filter(({ isHere }) => isHere());

/** Shows the navigation items that the signed-in key may visit. */
export function showNavigation() {
  const access = ACCESS.filter(({ isHere }) => isHere());
  fill(
    element('views'),
    MAIN.filter(({ isHere }) => isHere()).map(linkOf),
    access.length > 0 && h('h2', null, 'Access'),
    access.map(linkOf),
  );
  fill(element('foot-links'), linkOf(SETTINGS), h('a', { href: 'docs' }, icon('book'), 'API reference'));
  const tabs = navigationItems().filter(({ view }) => TABS.includes(view));
  fill(element('tabs'), tabs.map(linkOf), linkOf({ ...SETTINGS, icon: 'more', text: 'More' }));
  const { version } = knownStatus();
  element('service-name').textContent = isHub()
    ? `Hub · ${counted(macs().length, 'Mac')}`
    : isDemo()
      ? 'A simulated Mac'
      : location.host;
  element('service-version').textContent = version;
  markCurrent();
  for (const [view, { count, words }] of badges) setBadge(view, count, words);
}

/** @param {NavigationItem} item */
const linkOf = ({ view, icon: name, text }) =>
  h('a', { href: `#/${view}`, 'data-place': view }, icon(name), h('span', null, text), h('span', 'count'));

/** Marks the navigation links of the current view. For a view without a tab, marks More in the tab bar. */
export function markCurrent() {
  const { view } = currentRoute();
  for (const link of document.querySelectorAll('[data-place]')) {
    const target = link.getAttribute('data-place');
    const isMore = link.parentElement?.id === 'tabs' && target === 'settings' && !TABS.includes(view);
    if (target === view || isMore) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

/**
 * Shows how many items of a view need attention, on the view's navigation links. `words` follow the number for screen
 * readers. The number of approvals has the accent colour, because these items wait for a decision.
 * @param {string} view
 * @param {number} count
 * @param {string} words
 */
export function setBadge(view, count, words) {
  badges.set(view, { count, words });
  for (const badge of document.querySelectorAll(`[data-place="${view}"] .count`)) {
    badge.classList.toggle('now', view === 'approvals');
    if (count === 0) fill(badge);
    else fill(badge, count > 99 ? '99+' : count, h('span', 'unseen', ` ${words}`));
  }
  titled();
}

let title = '';

/** @param {string} text */
export function setTitle(text) {
  title = text;
  titled();
}

function titled() {
  const unread = badges.get('messages')?.count ?? 0;
  const waiting = badges.get('approvals')?.count ?? 0;
  const count = unread + waiting;
  document.title = `${count > 0 ? `(${count}) ` : ''}${title === '' ? 'Postern' : `${title} · Postern`}`;
}

/**
 * Shows the connection state at the bottom of the sidebar. Unless the state is good, also shows `text` in a banner
 * above the view.
 * @param {'good' | 'warning' | 'bad'} state
 * @param {string} text
 */
export function showConnection(state, text) {
  const line = element('health');
  line.dataset.state = state;
  fill(
    line,
    h('span', `dot ${state === 'good' ? 'live' : state === 'bad' ? 'bad' : 'warn'}`),
    h('span', 'grow cut', state === 'good' ? 'Live' : state === 'bad' ? 'Not connected' : 'Needs attention'),
  );
  line.title = text;
  const banner = element('outage');
  banner.hidden = state === 'good';
  banner.classList.toggle('bad', state === 'bad');
  if (state !== 'good') fill(banner, icon('alert'), h('span', 'grow', text));
}

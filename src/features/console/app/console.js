// The console: one page that uses only the public API. Each view is a module, loaded at its first use.

import { watchHeld } from '../parts/held-watch.js';
import { element, fill, h } from '../parts/old/dom.js';
import { codeLine, toast } from '../parts/old/parts.js';
import { call, currentKey, newestOffset, Refusal, statusOf, useKey } from '../service/api.ts';
import { forgetKey, isRemembered, keepKey, keptKey, takeFromAddress } from '../service/kept-key.ts';
import { listen, onLiveState, stopListening } from '../service/live.ts';
import { applyScheme } from '../service/preferences.ts';
import { currentRoute, setHome } from '../service/route.ts';
import { isHub, may, readService } from '../service/service.ts';
import { reasonOf } from '../service/words.ts';
import { markCurrent, navigationItems, setTitle, showConnection, showNavigation } from './shell.js';
import { followAddress, keyToEnter, offerDismissing } from './sign-in.js';

/** @import { Route } from '../service/route.ts' */

/**
 * A view. Its element stays in the document once it is made. `show` is called whenever the address leads to the view.
 * @typedef {{ readonly root: HTMLElement, readonly show: (route: Route) => unknown, readonly hide?: () => void }} View
 */

const others = () => import('./others.js');

/** @type {Readonly<Record<string, readonly [title: string, load: () => Promise<{ create(): View }>]>>} */
const VIEWS = {
  overview: ['Overview', () => import('../views/overview/overview.js')],
  messages: ['Messages', () => import('../views/messages/messages.js')],
  events: ['Events', async () => (await others()).events],
  webhooks: ['Webhooks', async () => (await others()).webhooks],
  approvals: ['Approvals', async () => (await others()).approvals],
  keys: ['Keys', async () => (await others()).keys],
  audit: ['Audit log', async () => (await others()).audit],
  settings: ['Settings', async () => (await others()).settings],
};

const WRONG_KEY = 'This key is not known here. Compare it with the one that the command below prints.';
const CHANGED_KEY = 'The key has changed. Enter the new one.';
/**
 * Interval between health checks. The interval is long, because each check counts towards the request limit. When a
 * lost WebSocket has reconnected, the page checks at once.
 */
const HEALTH_EVERY_MS = 60_000;

/** @type {Map<string, Promise<View>>} */
const made = new Map();
/** @type {View | undefined} */
let shown;
let isIn = false;
/** Counts the calls of `showView`. A call that has to wait shows its view only if no other call followed. */
let turns = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry;

/** @param {string} candidate */
async function enter(candidate) {
  clearTimeout(retry);
  useKey(candidate);
  try {
    const status = await readService();
    keepKey(candidate, /** @type {HTMLInputElement} */ (element('remember')).checked);
    isIn = true;
    setHome(navigationItems()[0]?.view ?? 'settings');
    showNavigation();
    showFrame();
    showBackend(status.backend);
    // Reads the position while the view loads. Listening begins there afterwards, so no event in between is missed.
    const [position] = await Promise.all([may('events') ? newestPosition(status) : undefined, showView()]);
    if (position !== undefined) listen(position, () => leave(CHANGED_KEY), restart);
    if (status.held_sends !== undefined && may('approve')) watchHeld(status.held_sends);
  } catch (error) {
    if (error instanceof Refusal && error.status === 429) waitToEnter(candidate, error.retryAfterS);
    else leave(statusOf(error) === 401 ? WRONG_KEY : reasonOf(error), statusOf(error) === 401);
  }
}

/**
 * Called when the requests of this minute are used up. Waits until the service accepts requests again, then signs in.
 * @param {string} candidate
 * @param {number} waitS
 */
function waitToEnter(candidate, waitS) {
  isIn = false;
  showFrame();
  let leftS = Math.max(1, waitS);
  const step = () => {
    if (leftS <= 0) return void enter(candidate);
    say(`The request limit for this minute is reached. Signing in automatically in ${leftS} s.`);
    leftS -= 1;
    retry = setTimeout(step, 1000);
  };
  step();
}

/** @param {import('../../../core/model/status.ts').StatusReport} status */
async function newestPosition({ newest_event: newest }) {
  if (isHub()) return { after: newest.offset ?? 0, hasChanges: false };
  const offset = await newestOffset();
  return { after: offset ?? newest.row_id, hasChanges: offset !== undefined };
}

/** Listens from the newest event on. Makes all views again, because they may have missed earlier events. */
async function restart() {
  try {
    listen(await newestPosition(await readService()), () => leave(CHANGED_KEY), restart);
    for (const view of made.values()) (await view).root.remove();
    made.clear();
    await showView();
  } catch (error) {
    leave(reasonOf(error), statusOf(error) === 401);
  }
}

/**
 * Returns to the sign-in form. Deletes a stored key that was refused, and keeps one that could not be checked.
 * @param {string} reason
 */
function leave(reason, isRefused = true) {
  if (isRefused) {
    if (currentKey() === keptKey()) forgetKey();
    useKey('');
  }
  stopListening();
  isIn = false;
  showFrame();
  say(reason);
  void checkHealth();
  /** @type {HTMLInputElement} */ (element('key')).select();
}

/** @param {string} text */
function say(text) {
  element('key-error').textContent = text;
  element('key').setAttribute('aria-invalid', String(text !== ''));
}

/** Shows either the sign-in form, or the navigation and a view. */
function showFrame() {
  element('app').classList.toggle('out', !isIn);
  element('sign-in').hidden = isIn;
  element('skip').hidden = !isIn;
  const input = /** @type {HTMLInputElement} */ (element('key'));
  if (isIn) {
    input.value = '';
    say('');
    return;
  }
  setTitle('Sign in');
  element('sign-in-place').textContent = `At ${location.host}. This page connects to nothing else.`;
  fill(
    element('sign-in-command'),
    h('p', null, 'Run this on the Mac. It opens this page, signed in:'),
    codeLine('postern open'),
  );
  fill(
    element('key-hint'),
    'From ',
    h('code', null, 'postern config key'),
    ', or a limited key. In a demo, add ',
    h('code', null, '--demo'),
    ' to both.',
  );
  input.focus();
}

/** Shows the view that the address names. */
async function showView() {
  if (!isIn) return;
  turns += 1;
  const own = turns;
  const route = currentRoute();
  const [title = '', load] = VIEWS[route.view] ?? [];
  if (load === undefined) return;
  markCurrent();
  setTitle(title);
  let view = made.get(route.view);
  if (view === undefined) {
    view = load().then(({ create }) => create());
    made.set(route.view, view);
  }
  try {
    const next = await view;
    if (own !== turns) return;
    if (shown !== next) {
      if (shown !== undefined) shown.root.hidden = true;
      shown?.hide?.();
      if (!next.root.isConnected) element('main').append(next.root);
      next.root.hidden = false;
      shown = next;
      // Moves keyboard focus into the new view, unless focus has already left the link that was clicked.
      if (document.activeElement?.matches('.side [aria-current], .tabs [aria-current]') === true)
        element('main').focus({ preventScroll: true });
      element('main').scrollTop = 0;
    }
    await next.show(route);
  } catch (error) {
    if (own !== turns) return;
    if (statusOf(error) === undefined) made.delete(route.view);
    toast(reasonOf(error), true);
  }
}

/**
 * Shows whether the service answers and can read Messages, and the reason if not.
 * @param {{ readonly isByItself?: boolean }} [options]
 */
async function checkHealth(options = {}) {
  try {
    showBackend((await call('health', options)).backend);
  } catch (error) {
    if (statusOf(error) === 0 && options.isByItself === true) return;
    showConnection('bad', reasonOf(error));
    fill(element('sign-in-health'), h('span', 'dot bad'), reasonOf(error));
  }
}

/** @param {import('../../../core/model/status.ts').StatusReport['backend']} backend */
function showBackend({ connected: isConnected, message }) {
  const text = message ?? (isConnected ? 'Connected' : 'no reason given');
  if (!isConnected) showConnection('bad', `Postern cannot read your messages: ${text}`);
  else showConnection(message === null ? 'good' : 'warning', text);
  fill(
    element('sign-in-health'),
    h('span', `dot ${isConnected ? 'good' : 'bad'}`),
    isConnected ? 'Postern is running and can read messages' : `Postern is running, but cannot read messages: ${text}`,
  );
}

applyScheme();
element('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void enter(/** @type {HTMLInputElement} */ (element('key')).value);
});
element('skip').addEventListener('click', (event) => {
  event.preventDefault();
  element('main').focus();
});
addEventListener('hashchange', () => {
  // `postern open` may open an address in a tab that already shows the console. Signs in with the code or key in that
  // address.
  const address = takeFromAddress();
  if (address === undefined) void showView();
  else void followAddress(address, enter);
});
/** @param {string} name */
const load = async (name) => {
  const { openPalette, takeShortcut } = (await others()).palette;
  return name === 'open' ? openPalette() : takeShortcut(name);
};
element('jump').addEventListener('click', () => void load('open'));
addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey } = event;
  if (!isIn || document.querySelector('dialog[open], [popover]:popover-open') !== null) return;
  if ((metaKey || ctrlKey) && !altKey && key.toLowerCase() === 'k') {
    event.preventDefault();
    void load('open');
    return;
  }
  if (ctrlKey || metaKey || altKey || key.length !== 1) return;
  if (/^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')) return;
  if (localStorage.getItem('postern-letters') === 'off' && /[a-z]/.test(key)) return;
  if (key === '/' || key === '?') event.preventDefault();
  void load(key);
});
let wasLost = false;
onLiveState((state) => {
  if (state === 'open' && wasLost) void checkHealth();
  wasLost = state !== 'open';
  if (wasLost) showConnection('bad', 'Postern does not answer. This page reconnects by itself.');
});
setInterval(() => void checkHealth({ isByItself: true }), HEALTH_EVERY_MS);
offerDismissing();
/** @type {HTMLInputElement} */ (element('remember')).checked = isRemembered();
const key = await keyToEnter();
if (key === '') {
  showFrame();
  void checkHealth();
} else await enter(key);

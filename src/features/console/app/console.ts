// The console: one page that uses only the public API. Each view is a module; most are loaded at their first use.

import { effect } from '@preact/signals';
import { h, render } from 'preact';
import type { StatusReport } from '../../../core/model/status.ts';
import { catchLetters } from '../parts/catch-letters.ts';
import { limited, setTitle } from '../parts/frame.ts';
import { watchHeld } from '../parts/held-watch.ts';
import { dropOldToast, toast } from '../parts/toast.ts';
import { pause } from '../parts/view.tsx';
import { currentKey, isAway, isUnreachable, newestOffset, statusOf, useKey } from '../service/api.ts';
import { forgetKey, isRemembered, keepKey, keptKey, takeFromAddress } from '../service/kept-key.ts';
import type { Position } from '../service/line.ts';
import { listen, liveState, stopListening } from '../service/live.ts';
import { navigationItems } from '../service/navigation.ts';
import { placeName } from '../service/place.ts';
import { applyScheme, hasLetters } from '../service/preferences.ts';
import { currentRoute, setViews, type View } from '../service/route.ts';
import { isCapable, may, newestStatus, readService, serves } from '../service/service.ts';
import { prepareTimes, reasonOf } from '../service/words.ts';
import { create as createOverview } from '../views/overview/overview.tsx';
import { followAddress, keyToEnter } from './address-key.tsx';
import { element } from './element.ts';
import { checkHealth, showBackend, showLost } from './health.ts';
import { coming, markCurrent, startShell } from './shell.tsx';
import { isEntering, isMacAway, isUntouched, keyField, refusal, rememberField, SignIn } from './sign-in.tsx';
import { viewStyles } from './styles.ts';

interface Loaded {
  readonly create: () => View;
}

/** Loads a module of views along with their styles. The browser can handle input before the view is made. */
async function styled<Views>(module: Promise<Views>): Promise<Views> {
  const [views] = await Promise.all([module, viewStyles()]);
  await pause();
  return views;
}
const others = () => styled(import('./others.ts'));

const VIEWS: Readonly<Record<string, readonly [title: string, load: () => Promise<Loaded>]>> = {
  // Part of the page's own script: one larger file compresses better than two.
  overview: ['Overview', async () => ({ create: createOverview })],
  messages: [
    'Messages',
    async () => (serves('listMessages') ? styled(import('../views/messages/messages.tsx')) : (await others()).merged),
  ],
  events: ['Events', async () => (await others()).events],
  webhooks: ['Webhooks', async () => (await others()).webhooks],
  approvals: ['Approvals', async () => (await others()).approvals],
  keys: ['Keys', async () => (await others()).keys],
  audit: ['Audit log', async () => (await others()).audit],
  settings: ['Settings', async () => (await others()).settings],
};

const WRONG_KEY = 'This key is not known here. Compare it with the one that the command below prints.';
const CHANGED_KEY = 'The key has changed. Enter the new one.';
const AWAY_S = 5;
/** A view that is there sooner appears without its title first. */
const SKELETON_MS = 150;

const made = new Map<string, Promise<View>>();
let shown: View | undefined;
let isIn = false;
/** True once this document has shown views. */
let wasIn = false;
/** Counts the calls of `showView`. A call that has to wait shows its view only if no other call followed. */
let turns = 0;
/** True if nothing answered when the view that is shown was last read. */
let isLost = false;
/** Counts the calls of `enter`. */
let entries = 0;

async function enter(candidate: string): Promise<void> {
  entries += 1;
  const own = entries;
  useKey(candidate);
  isEntering.value = true;
  preload(currentRoute().view);
  try {
    const status = await readService();
    // Another key was entered while this one waited for an answer.
    if (own !== entries) return;
    keepKey(candidate, rememberField.current?.checked ?? isRemembered());
    // The page shows what another key may see, or has a gap.
    if (wasIn) return location.reload();
    wasIn = true;
    isEntering.value = false;
    isMacAway.value = false;
    isIn = true;
    setViews([...navigationItems().map(({ view }) => view), 'settings']);
    showFrame();
    // Reads the position while the view loads. Listening begins there afterwards, so no event in between is missed.
    const [position] = await Promise.all([
      may('events') ? newestPosition(status).catch(listenLater) : undefined,
      showView(),
    ]);
    if (position !== undefined) listen(position, () => leave(CHANGED_KEY), restart);
    if (status.held_sends !== undefined && may('approve')) watchHeld(status.held_sends);
  } catch (error) {
    if (own !== entries) return;
    isMacAway.value = placeName !== undefined && isAway(error);
    leave(statusOf(error) === 401 ? WRONG_KEY : reasonOf(error), statusOf(error) === 401);
    const again = (): unknown => own === entries && isUntouched(candidate) && void enter(candidate);
    if (isAway(error)) setTimeout(again, AWAY_S * 1000);
  }
}

/** Signs in with the key that the page has, or shows the form. */
async function begin(): Promise<void> {
  if (keptKey() !== '' || /^#(?:code|key)=/.test(location.hash)) {
    // The frame stands there at once, and the title of the view once the service is late.
    element('app').classList.remove('out');
    setTimeout(() => {
      const { view } = currentRoute();
      if (!isIn && element('sign-in').hidden) awaitView(view, VIEWS[view]?.[0] ?? '');
    }, SKELETON_MS);
  }
  const key = await keyToEnter();
  if (key !== '') return enter(key);
  showFrame();
  await checkHealth();
}

async function newestPosition({ newest_event: newest }: StatusReport): Promise<Position> {
  const offset = isCapable('changes') ? await newestOffset() : undefined;
  return { after: offset ?? newest.row_id, hasChanges: offset !== undefined };
}

/** Listens as soon as the service knows its events, if it says that it cannot now. */
function listenLater(error: unknown): undefined {
  if (!isAway(error)) throw error;
  setTimeout(() => void restart(), AWAY_S * 1000);
}

/** Listens from the newest event on. Makes all views again, because they may have missed earlier events. */
async function restart(): Promise<void> {
  try {
    listen(await newestPosition(await readService()), () => leave(CHANGED_KEY), restart);
    for (const view of made.values()) {
      const { root, end } = await view;
      root.remove();
      end?.();
    }
    made.clear();
    await showView();
  } catch (error) {
    if (isAway(error)) listenLater(error);
    else leave(reasonOf(error), statusOf(error) === 401);
  }
}

/** Returns to the sign-in form. Deletes a stored key that was refused, and keeps one that could not be checked. */
function leave(reason: string, isRefused = true): void {
  if (isRefused) {
    if (currentKey() === keptKey()) forgetKey();
    useKey('');
  }
  stopListening();
  isIn = false;
  isEntering.value = false;
  coming.value = undefined;
  showFrame();
  refusal.value = reason;
  void checkHealth();
  keyField.current?.select();
}

/** Shows either the sign-in form, or the navigation and a view. */
function showFrame(): void {
  element('app').classList.toggle('out', !isIn);
  element('sign-in').hidden = isIn;
  element('skip').hidden = !isIn;
  if (!isIn) {
    render(h(SignIn, { enter }), element('sign-in'));
    setTitle('Sign in');
    keyField.current?.focus();
    return;
  }
  if (keyField.current !== null) keyField.current.value = '';
  refusal.value = '';
}

/** Begins to load the module of a view. */
function preload(name: string): void {
  VIEWS[name]?.[1]().catch(() => {});
}

/** Shows the view that the address names. */
async function showView(): Promise<void> {
  if (!isIn) return;
  turns += 1;
  const own = turns;
  const route = currentRoute();
  const [title = '', load] = VIEWS[route.view] ?? [];
  if (load === undefined) return;
  markCurrent();
  dropOldToast();
  setTitle(title);
  const view = made.get(route.view) ?? load().then(({ create }) => create());
  made.set(route.view, view);
  const main = element('main');
  main.setAttribute('aria-busy', 'true');
  const late = setTimeout(() => own === turns && awaitView(route.view, title), SKELETON_MS);
  try {
    const next = await view;
    if (own !== turns) return;
    put(next);
    await next.show(route);
    if (isLost) void checkHealth();
    isLost = false;
  } catch (error) {
    if (own !== turns) return;
    if (statusOf(error) === undefined) made.delete(route.view);
    isLost = isUnreachable(error);
    if (isLost) {
      showLost();
      setTimeout(() => own === turns && void showView(), AWAY_S * 1000);
    } else toast(reasonOf(error), true);
  } finally {
    clearTimeout(late);
    if (own === turns) {
      main.removeAttribute('aria-busy');
      if (isLost) awaitView(route.view, title);
      else coming.value = undefined;
      if (coming.value === undefined && shown !== undefined) reveal(shown, true);
    }
  }
}

/** Shows the title of a view whose content is still to come, unless the view still has its last content. */
function awaitView(name: string, title: string): void {
  if (shown?.root.dataset.view === name && shown.root.hasChildNodes()) return;
  if (shown !== undefined) reveal(shown, false);
  coming.value = title;
}

/** Shows or hides the element of a view. */
function reveal({ root }: View, isShown: boolean): void {
  root.hidden = !isShown;
  element('main').classList.toggle('filled', isShown && root.classList.contains('fill'));
}

/** Shows a view in place of the one that is shown, and of a title that stood for a view. */
function put(next: View): void {
  if (shown === next && !next.root.hidden) return;
  if (shown !== undefined) reveal(shown, false);
  const main = element('main');
  if (!next.root.isConnected) main.append(next.root);
  reveal(next, true);
  if (next.root.hasChildNodes()) coming.value = undefined;
  shown = next;
  // Moves keyboard focus into the new view, unless focus has already left the link that was clicked.
  const isOnLink = document.activeElement?.matches('.side [aria-current], .tabs [aria-current]') === true;
  if (isOnLink) main.focus({ preventScroll: true });
  main.scrollTop = 0;
}

const takeKey = async (key: string): Promise<void> => (await others()).shortcuts.takeShortcut(key);

async function openPalette(): Promise<void> {
  const typed = catchLetters();
  const module = await others().finally(() => setTimeout(typed));
  module.palette.openPalette(typed());
}

/** Gives a row of the view's list the focus: the current one, or else the first. Reports whether there is one. */
function enterList(): boolean {
  const rows = [...(shown?.root.querySelectorAll<HTMLElement>('[data-rows] :is(a, button)') ?? [])];
  const here = rows.filter((row) => row.checkVisibility());
  const row = here.find((one) => one.getAttribute('aria-current') === 'true') ?? here[0];
  row?.focus();
  return row !== undefined;
}

function pressed(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  if (!isIn || document.querySelector('dialog[open], [popover]:popover-open') !== null) return;
  if ((metaKey || ctrlKey) && !altKey && key.toLowerCase() === 'k') {
    event.preventDefault();
    void openPalette();
    return;
  }
  if (ctrlKey || metaKey || altKey) return;
  const isNowhere = target === document.body || target === element('main');
  if (/^Arrow(?:Up|Down)$/.test(key) && isNowhere && enterList()) event.preventDefault();
  // A key that is held down must not decide about the next approval too.
  if (key.length !== 1 || event.repeat) return;
  if (/^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')) return;
  if (!hasLetters() && /[a-z]/.test(key)) return;
  if (key === '/' || key === '?') event.preventDefault();
  void takeKey(key);
}

applyScheme();
effect(() => {
  // A kept key signs in without the form, unless it has to wait.
  if (limited.value !== undefined && !isIn && element('sign-in').hidden) showFrame();
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
for (const name of ['pointerover', 'focusin'] as const) {
  addEventListener(name, ({ target }) => {
    const link = target instanceof Element ? target.closest<HTMLElement>('[data-place]') : null;
    if (link !== null) preload(link.dataset.place ?? '');
  });
}
element('jump').addEventListener('click', () => isIn && void openPalette());
addEventListener('keydown', pressed);
newestStatus.subscribe((status) => status && showBackend(status.backend));
let wasClosed = false;
liveState.subscribe((state) => {
  if (wasClosed || state === 'closed') void checkHealth();
  wasClosed = state === 'closed';
});
const begun = begin();
// These two take long, so they are done while the service answers. The browser can handle input in between.
await pause();
startShell();
await pause();
prepareTimes();
await begun;

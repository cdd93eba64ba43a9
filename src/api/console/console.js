// The console: one page over the public API, nothing else. Each noun has a separate file beside this one.

import { showAccess } from './access.js';
import { call, currentKey, newestOffset, useKey } from './api.js';
import { offerViewer } from './attachments.js';
import { focusConversations, offerConversations, showConversations } from './conversations.js';
import { element, say } from './elements.js';
import { isHub, noteFleet, offerMacs, showMacs } from './fleet.js';
import { watchHealth } from './health.js';
import { forgetKey, isRemembered, keepKey, keptKey, takeFromAddress } from './kept-key.js';
import { listen, offerFilter } from './live.js';
import { offerMessagesView, showMessagesView } from './messages-view.js';
import { currentRoute } from './route.js';
import { offerSearch } from './search.js';
import { expectChanges, offerSending } from './send.js';
import { applyScheme, offerSettings, showSettings } from './settings.js';
import { offerShortcuts } from './shortcuts.js';
import { followAddress, keyToEnter, offerDismissing } from './sign-in.js';
import { noteDemo, offerSpeaking } from './speak.js';
import { offerThread, reloadThread } from './thread.js';
import { offerWebhooks, showWebhooks } from './webhooks.js';

const WRONG_KEY = 'Wrong API key. Compare it with api_key in config.toml.';
const CHANGED_KEY = 'The key was changed: enter the new one, api_key in config.toml.';

let isIn = false;

async function enter(candidate) {
  useKey(candidate);
  try {
    const status = await call('status');
    noteDemo(status);
    noteFleet(status);
    const position = await newestPosition(status);
    await showConversations();
    keepKey(candidate, element('remember').checked);
    isIn = true;
    expectChanges(position.hasChanges);
    showFrame();
    listen(position, () => leave(CHANGED_KEY), restart);
    await showView();
    if (currentRoute().id === undefined && currentRoute().view === 'messages') focusConversations();
    if (status.held_sends !== undefined) await showAccess();
  } catch (error) {
    leave(error.status === 401 ? WRONG_KEY : error.message, error.status === 401);
  }
}

async function newestPosition({ newest_event: newest }) {
  if (isHub()) return { after: newest.offset, hasChanges: false };
  const offset = await newestOffset();
  return { after: offset ?? newest.row_id, hasChanges: offset !== undefined };
}

/** Continues from now, and reloads the current view: events since the last one may have been missed. */
async function restart() {
  try {
    listen(await newestPosition(await call('status')), () => leave(CHANGED_KEY), restart);
    await Promise.all([showConversations(), reloadThread()]);
  } catch (error) {
    leave(error.message, error.status === 401);
  }
}

/** Returns to the sign-in form. Deletes a kept key that was refused; one that could not be checked stays. */
function leave(reason, isRefused = true) {
  if (isRefused) {
    if (currentKey() === keptKey()) forgetKey();
    useKey('');
  }
  isIn = false;
  showFrame();
  say('key-error', reason, true);
  element('key').select();
}

/** The sign-in form, or the views and their navigation. */
function showFrame() {
  element('sign-in').hidden = isIn;
  element('workspace').hidden = !isIn;
  element('views').hidden = !isIn;
  if (isIn) {
    element('key').value = '';
    say('key-error', '');
  } else element('key').focus();
}

/** Shows the view in the address. */
async function showView() {
  if (!isIn) return;
  const route = currentRoute();
  for (const view of document.querySelectorAll('#workspace > [data-view]'))
    view.hidden = view.dataset.view !== route.view;
  for (const link of document.querySelectorAll('#views a')) {
    if (link.hash === `#/${route.view}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  try {
    if (route.view === 'messages') await showMessagesView(route);
    else if (route.view === 'webhooks') await showWebhooks();
    else if (route.view === 'access') await showAccess();
    else if (route.view === 'macs') await showMacs();
    else if (route.view === 'settings') showSettings(await call('status'));
  } catch (error) {
    say(route.view === 'webhooks' ? 'webhook-result' : 'send-result', error.message, true);
  }
}

applyScheme();
element('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void enter(element('key').value);
});
element('sign-out').addEventListener('click', () => {
  forgetKey();
  location.reload();
});
addEventListener('hashchange', () => {
  // The address that postern open leads to, in a tab where the console is open.
  const address = takeFromAddress();
  if (address === undefined) void showView();
  else void followAddress(address, enter);
});
offerConversations();
offerMacs(showConversations);
offerThread();
offerMessagesView();
offerSending();
offerSpeaking();
offerSearch();
offerFilter();
offerWebhooks();
offerViewer();
offerShortcuts();
offerSettings(currentKey);
watchHealth();
offerDismissing();
element('remember').checked = isRemembered();
const key = await keyToEnter();
if (key === '') showFrame();
else await enter(key);

// The console: one page over the public API, nothing else. Each noun has a file of its own beside this one.

import { offerAccess, showAccess } from './access.js';
import { call, currentKey, newestOffset, useKey } from './api.js';
import { focusConversations, showConversations } from './conversations.js';
import { element, say } from './elements.js';
import { watchHealth } from './health.js';
import { forgetKey, isRemembered, keepKey, keyInAddress } from './kept-key.js';
import { listen, offerFilter } from './live.js';
import { offerSearch } from './search.js';
import { offerSending } from './send.js';
import { reloadThread } from './thread.js';
import { showWebhooks } from './webhooks.js';

const WRONG_KEY = 'Wrong API key. Compare it with api_key in config.toml.';
const CHANGED_KEY = 'The key was changed: enter the new one, api_key in config.toml.';

async function enter(candidate) {
  useKey(candidate);
  try {
    const status = await call('status');
    const position = await newestPosition(status);
    await showConversations();
    keepKey(candidate, element('remember').checked);
    show('workspace');
    focusConversations();
    listen(position, () => leave(CHANGED_KEY), restart);
    if (status.held_sends !== undefined) await showAccess();
    await showWebhooks(status).catch((error) => say('webhook-result', error.message, true));
  } catch (error) {
    leave(error.status === 401 ? WRONG_KEY : error.message, error.status === 401);
  }
}

async function newestPosition({ newest_event: newest }) {
  const offset = await newestOffset();
  return { after: offset ?? newest.row_id, hasChanges: offset !== undefined };
}

/** Goes on from now, and reads again what is shown: events since the last one may have been missed. */
async function restart() {
  try {
    listen(await newestPosition(await call('status')), () => leave(CHANGED_KEY), restart);
    await Promise.all([showConversations(), reloadThread()]);
  } catch (error) {
    leave(error.message, error.status === 401);
  }
}

/** Back to the sign-in form. A key that was refused is forgotten; one that could not be checked is kept. */
function leave(reason, isForgotten = true) {
  if (isForgotten) {
    useKey('');
    forgetKey();
  }
  show('sign-in');
  say('key-error', reason, true);
  element('key').select();
}

/** Shows one of the two views: the sign-in form or the workspace. */
function show(view) {
  element('sign-in').hidden = view !== 'sign-in';
  element('workspace').hidden = view !== 'workspace';
  element('sign-out').hidden = view !== 'workspace';
  element('access').hidden = true;
  element('access-button').hidden = view !== 'workspace';
  element('access-button').setAttribute('aria-pressed', 'false');
  if (view === 'sign-in') {
    element('key').focus();
  } else {
    element('key').value = '';
    say('key-error', '');
  }
}

element('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void enter(element('key').value);
});
element('sign-out').addEventListener('click', () => {
  forgetKey();
  location.reload();
});
// The same address once more, in a tab where the console is open.
addEventListener('hashchange', () => {
  const key = keyInAddress();
  if (key !== undefined) void enter(key);
});
offerSending();
offerSearch();
offerFilter();
offerAccess();
watchHealth();
element('remember').checked = isRemembered();
if (currentKey() !== '') void enter(currentKey());
else show('sign-in');

// The conversations beside the open one; on a phone one or the other.

import { call } from './api.js';
import { markCurrent, nameOf, shownName } from './conversations.js';
import { element, say } from './elements.js';
import { macOf, macTag, partsToInclude } from './fleet.js';
import { isNewConversation, writeTo } from './send.js';
import { showSpeakers } from './speak.js';
import { closeConversation, openConversation, openedConversation } from './thread.js';

let shownMessage;
let wanted;

/** Keeps the message that the next address names, so that it need not be loaded. */
export function wantMessage(message) {
  wanted = message;
}

/** Shows the conversation and message in the address. */
export async function showMessagesView({ id, message }) {
  markCurrent();
  element('messages').classList.toggle('has-thread', id !== undefined || isNewConversation());
  if (id === undefined) {
    closeConversation();
    showSpeakers();
    shownMessage = undefined;
    writeTo(undefined);
    element('thread-title').textContent = 'Messages';
    element('copy-id').hidden = true;
    return;
  }
  const isSame = id === openedConversation() && message === shownMessage;
  const isByKeyboard = document.activeElement?.matches('#conversation-list button:focus-visible');
  showTitle(id, shownName(id));
  element('copy-id').hidden = false;
  writeTo(id);
  if (shownName(id) === id) void showName(id);
  if (isSame && wanted === undefined) return;
  shownMessage = message;
  const found = message === undefined ? undefined : await messageOf(message);
  wanted = undefined;
  if (isByKeyboard) element('body').focus();
  const opened = openConversation(id, found);
  showSpeakers();
  await opened;
}

function showTitle(id, name) {
  const mac = macOf(id);
  element('thread-title').textContent = name;
  if (mac !== undefined) element('thread-title').prepend(macTag(mac));
}

async function messageOf(id) {
  if (wanted?.id === id) return wanted;
  try {
    return await call(`messages/${encodeURIComponent(id)}`);
  } catch (error) {
    say('send-result', error.message, true);
    return undefined;
  }
}

/** For a conversation that is too old for the list. */
async function showName(id) {
  try {
    const name = nameOf(await call(`conversations/${encodeURIComponent(id)}?include=${partsToInclude()}`));
    if (id === openedConversation()) showTitle(id, name);
  } catch (error) {
    say('send-result', error.message, true);
  }
}

export function offerMessagesView() {
  element('copy-id').addEventListener('click', async () => {
    await navigator.clipboard.writeText(openedConversation());
    say('send-result', 'Copied the id of the conversation.');
  });
}

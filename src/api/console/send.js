import { call, upload } from './api.js';
import { showConversations } from './conversations.js';
import { copyOf, element, say } from './elements.js';
import { isHub, partsToInclude, senderMac } from './fleet.js';
import { goTo, pathOfConversation } from './route.js';
import { enterSends } from './settings.js';
import { addMessage, openedConversation, updateMessage } from './thread.js';

/** When an own message is checked again if changes are not reported. */
const LOOK_AGAIN_MS = [1000, 3000, 10_000];

const form = element('send-form');
const body = element('body');
const recipient = element('recipient');
const button = element('send');
let files = [];
let areChangesTold = true;

export function expectChanges(areTold) {
  areChangesTold = areTold;
}

export const isNewConversation = () => recipient.parentElement.hidden === false && document.activeElement === recipient;

/** The conversation to write to; undefined if the person types the recipient. */
export function writeTo(id) {
  recipient.parentElement.hidden = id !== undefined;
  recipient.required = id === undefined;
  element('from').parentElement.hidden = id !== undefined;
  if (id !== undefined) recipient.value = id;
  else if (recipient.value.includes(';')) recipient.value = '';
  say('send-result', '');
}

export function offerSending() {
  body.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing || event.shiftKey) return;
    if (!enterSends() && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send();
  });
  element('new-message').addEventListener('click', () => {
    goTo('#/messages');
    element('messages').classList.add('has-thread');
    writeTo(undefined);
    recipient.focus();
  });
  const chooser = element('files');
  element('attach').addEventListener('click', () => chooser.click());
  chooser.addEventListener('change', () => {
    addFiles(chooser.files);
    chooser.value = '';
  });
  const thread = element('thread');
  thread.addEventListener('dragover', (event) => {
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    thread.classList.add('dropping');
  });
  thread.addEventListener('dragleave', () => thread.classList.remove('dropping'));
  thread.addEventListener('drop', (event) => {
    event.preventDefault();
    thread.classList.remove('dropping');
    addFiles(event.dataTransfer.files);
  });
  body.addEventListener('paste', ({ clipboardData }) => addFiles(clipboardData.files));
}

function addFiles(added) {
  if (isHub()) return; // A hub takes no files.
  files = [...files, ...added];
  showFiles();
}

function showFiles() {
  element('file-list').replaceChildren(
    ...files.map((file) => {
      const item = copyOf('file-item');
      item.querySelector('span').textContent = file.name;
      const remove = item.querySelector('button');
      remove.setAttribute('aria-label', `Remove ${file.name}`);
      remove.addEventListener('click', () => {
        files = files.filter((other) => other !== file);
        showFiles();
        body.focus();
      });
      return item;
    }),
  );
}

async function send() {
  if (button.disabled) return;
  if (body.value === '' && files.length === 0) return;
  button.disabled = true;
  const place = location.hash;
  try {
    const ids = [];
    for (const [index, file] of files.entries()) {
      say('send-result', `Uploading ${file.name} (${index + 1} of ${files.length}) …`);
      ids.push(await upload(file));
    }
    say('send-result', 'Sending …');
    const from = recipient.parentElement.hidden ? undefined : senderMac();
    const message = await call('messages', {
      method: 'POST',
      body: {
        recipient: recipient.value,
        body: body.value,
        ...(ids.length > 0 && { attachment_ids: ids }),
        ...(from !== undefined && { from }),
      },
    });
    body.value = '';
    files = [];
    showFiles();
    await noteSent(message, place);
  } catch (error) {
    say('send-result', error.message, true);
  } finally {
    button.disabled = false;
    body.focus();
  }
}

async function noteSent(message, place) {
  const { id, status, conversation_id: conversation } = message;
  if (id === '') say('send-result', 'Messages has it, and has not stored it yet.');
  else say('send-result', status === 'failed' ? 'Messages could not send it.' : 'Sent.', status === 'failed');
  if (conversation === '') return;
  if (conversation === openedConversation()) {
    if (id !== '') addMessage(message.attachments.length === 0 ? message : await withDetails(message));
  } else {
    await showConversations();
    // Unless the person has navigated away meanwhile.
    if (location.hash === place) goTo(pathOfConversation(conversation));
  }
  if (id !== '' && !areChangesTold) lookAgain(id, 0);
}

/** The size of a picture decides whether it is converted. */
async function withDetails(message) {
  return call(`messages/${message.id}?include=${partsToInclude()}`).catch(() => message);
}

/** Until the message is delivered, or others need the requests. */
function lookAgain(id, turn) {
  setTimeout(async () => {
    const message = await call(`messages/${id}?include=${partsToInclude()}`, { isByItself: true }).catch(
      () => undefined,
    );
    if (message === undefined) return;
    updateMessage(message, []);
    if (['pending', 'sent'].includes(message.status) && turn + 1 < LOOK_AGAIN_MS.length) lookAgain(id, turn + 1);
  }, LOOK_AGAIN_MS[turn]);
}

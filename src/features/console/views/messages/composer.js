// The box for writing a message and attaching files, and the line for the recipient of a new message.

import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, iconButton } from '../../parts/old/parts.js';
import { suggestPeople } from '../../parts/old/suggest.js';
import { call, upload } from '../../service/api.ts';
import { areChangesLive } from '../../service/live.ts';
import { enterSends } from '../../service/preferences.ts';
import { goTo, pathOfConversation } from '../../service/route.ts';
import { isHub, partsToInclude } from '../../service/service.ts';
import { reasonOf } from '../../service/words.ts';
import { showConversations } from './conversations.js';
import { senderChooser, senderMac } from './macs.js';
import { addMessage, openedConversation, updateMessage } from './thread.js';

/** @import { Conversation } from '../../../../core/model/conversation.ts' */

/** Delays before each check of the status of a sent message. Used only if the service does not report changes. */
const LOOK_AGAIN_MS = [1000, 3000, 10_000];
const MOST_LINES_PX = 160;

export const body = h('textarea', { id: 'body', rows: 1, 'aria-label': 'Message', dir: 'auto' });
export const recipient = h('input', {
  id: 'recipient',
  class: 'input',
  'aria-label': 'To',
  placeholder: 'A name, number or group',
  spellcheck: 'false',
});
const chooser = h('input', { id: 'files', type: 'file', multiple: true, hidden: true });
const fileList = h('ul', { id: 'file-list', class: 'filters', 'aria-label': 'Files to send', hidden: true });
const result = h('p', { id: 'send-result', class: 'hint', role: 'status' });
const sendButton = h('button', { type: 'submit', id: 'send', class: 'sendit', 'aria-label': 'Send' }, icon('up'));

/** @type {readonly File[]} */
let files = [];
/** The chosen person or group of a new message. @type {{ id: string, name: string } | undefined} */
let chosen;

/** The line above the message list that takes the recipient of a new message. */
export const toLine = h('div', { class: 'to-line', hidden: true });

export function makeComposer() {
  const attach = isHub() ? undefined : iconButton('clip', 'Attach files', () => chooser.click());
  const form = h(
    'form',
    { id: 'send-form', class: 'compose' },
    fileList,
    h('div', 'row bottom', attach, chooser, h('div', 'box', body, sendButton)),
    result,
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send();
  });
  const from = senderChooser();
  const suggestions = suggestPeople(recipient, ({ id, name }) => {
    chosen = { id, name };
    recipient.value = name;
    body.focus();
  });
  fill(
    toLine,
    h('label', { for: 'recipient', class: 'quiet' }, 'To'),
    h('div', 'grow to-field', recipient, suggestions),
    from,
  );
  return form;
}

/**
 * Prepares the box for a conversation. For a new message (without a conversation and a name), also shows the line for
 * the recipient.
 * @param {Conversation | undefined} conversation
 * @param {string} name
 */
export function writeTo(conversation, name) {
  const isNew = conversation === undefined && name === '';
  toLine.hidden = !isNew;
  if (!isNew) chosen = undefined;
  const isText = /^(?:SMS|RCS)$/.test(conversation?.details?.service ?? '');
  const modifier = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl+';
  body.placeholder = `${isText ? 'Text message' : 'iMessage'}${enterSends() ? '' : ` (${modifier}Enter sends)`}`;
  body.setAttribute('aria-label', isNew ? 'Message' : `Message to ${name}`);
  say('');
}

/** @param {string} text */
function say(text, isBad = false) {
  result.textContent = text;
  result.className = isBad ? 'err' : 'hint';
}

/** Fits the height of the box to its text. */
function grow() {
  body.style.height = 'auto';
  body.style.height = `${Math.min(body.scrollHeight, MOST_LINES_PX)}px`;
}

/** @param {Iterable<File>} added */
export function addFiles(added) {
  if (isHub()) return; // A hub accepts no files.
  files = [...files, ...added];
  showFiles();
}

function showFiles() {
  fileList.hidden = files.length === 0;
  fill(
    fileList,
    files.map((file) =>
      h(
        'li',
        'token',
        h('span', 'cut', file.name),
        h(
          'button',
          {
            type: 'button',
            'aria-label': `Remove ${file.name}`,
            onclick: () => {
              files = files.filter((other) => other !== file);
              showFiles();
              body.focus();
            },
          },
          '×',
        ),
      ),
    ),
  );
}

const target = () =>
  toLine.hidden
    ? openedConversation()
    : chosen !== undefined && chosen.name === recipient.value
      ? chosen.id
      : recipient.value.trim();

async function send() {
  if (body.value === '' && files.length === 0) return;
  const to = target();
  if (to === '') {
    say('Choose whom to write to.', true);
    recipient.focus();
    return;
  }
  const startHash = location.hash;
  await busily(sendButton, async () => {
    try {
      const ids = [];
      for (const [index, file] of files.entries()) {
        say(`Uploading ${file.name} (${index + 1} of ${files.length}) …`);
        ids.push(await upload(file));
      }
      const from = toLine.hidden ? undefined : senderMac();
      const message = await call('messages', {
        method: 'POST',
        body: {
          recipient: to,
          body: body.value,
          ...(ids.length > 0 && { attachment_ids: ids }),
          ...(from && { from }),
        },
      });
      body.value = '';
      grow();
      files = [];
      showFiles();
      say(message.approval === undefined ? '' : 'It waits for approval.');
      if (message.approval === undefined) await noteSent(message, startHash);
    } catch (error) {
      say(reasonOf(error), true);
    }
  });
  body.focus();
}

/**
 * @param {any} message
 * @param {string} startHash the page's address when the send began
 */
async function noteSent(message, startHash) {
  const { id, status, conversation_id: conversation } = message;
  if (id === '') say('Messages has it, but has not stored it yet.');
  else if (status === 'failed') say('Messages could not send it.', true);
  if (conversation === '') return;
  if (conversation === openedConversation()) {
    if (id !== '') addMessage(message.attachments.length === 0 ? message : await withDetails(message));
  } else {
    await showConversations();
    // Opens the conversation only if the user has not navigated to another page since the send began.
    if (location.hash === startHash) goTo(pathOfConversation(conversation));
  }
  if (id !== '' && !areChangesLive()) lookAgain(id, 0);
}

/**
 * Reads a message again with details, because the size of a picture decides whether to convert it.
 * @param {any} message
 */
const withDetails = (message) => call(`messages/${message.id}?include=${partsToInclude()}`).catch(() => message);

/**
 * Reads a sent message again after each delay of `LOOK_AGAIN_MS` and shows its status, until the message is delivered
 * or has failed. Stops early if few requests are left.
 * @param {string} id
 * @param {number} turn
 */
function lookAgain(id, turn) {
  setTimeout(async () => {
    const path = `messages/${id}?include=${partsToInclude()}`;
    const message = await call(path, { isByItself: true }).catch(() => undefined);
    if (message === undefined) return;
    updateMessage(message, []);
    if (['pending', 'sent'].includes(message.status) && turn + 1 < LOOK_AGAIN_MS.length) lookAgain(id, turn + 1);
  }, LOOK_AGAIN_MS[turn]);
}

/** Lets files be dropped anywhere on the thread. @param {HTMLElement} thread */
export function takeDrops(thread) {
  thread.addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files') !== true) return;
    event.preventDefault();
    thread.classList.add('dropping');
  });
  thread.addEventListener('dragleave', () => thread.classList.remove('dropping'));
  thread.addEventListener('drop', (event) => {
    event.preventDefault();
    thread.classList.remove('dropping');
    addFiles(event.dataTransfer?.files ?? []);
  });
}

body.addEventListener('input', grow);
body.addEventListener('paste', ({ clipboardData }) => addFiles(clipboardData?.files ?? []));
body.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing || event.shiftKey) return;
  if (!enterSends() && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  body.form?.requestSubmit();
});
chooser.addEventListener('change', () => {
  addFiles(chooser.files ?? []);
  chooser.value = '';
});

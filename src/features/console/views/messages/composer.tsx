// The box for writing a message and attaching files.

import { signal } from '@preact/signals';
import { createRef, type TargetedKeyboardEvent, type VNode } from 'preact';
import type { ScheduledSend } from '../../../../client/scheduled-types.ts';
import type { Message } from '../../../../core/model/message.ts';
import { Icon, IconButton } from '../../parts/parts.tsx';
import { busily } from '../../parts/toast.ts';
import { Token } from '../../parts/token.tsx';
import { call, upload } from '../../service/api.ts';
import { nameOf } from '../../service/directory.ts';
import { areChangesLive } from '../../service/live.ts';
import { placeName } from '../../service/place.ts';
import { enterSends, MODIFIER } from '../../service/preferences.ts';
import { goTo, pathOfConversation } from '../../service/route.ts';
import { ALL_PARTS } from '../../service/service.ts';
import { addressIn, reasonOf } from '../../service/words.ts';
import { showConversations } from './conversations.tsx';
import { openState, recipient } from './open-state.ts';
import { noteScheduled } from './scheduled.tsx';
import { SendLater } from './send-later.tsx';
import { SpeakToggle } from './speak.tsx';
import { thread } from './thread.tsx';
import { chosenRecipient, focusRecipient } from './to-line.tsx';

/** Delays before each check of the status of a sent message. Used only if the service does not report changes. */
const LOOK_AGAIN_MS = [1000, 3000, 10_000];
const MOST_LINES_PX = 160;

/** Answer to a send: the message, the approval that it waits for, or the scheduled send. */
type Sent = Message & { readonly approval?: unknown; readonly scheduled?: ScheduledSend };

const body = createRef<HTMLTextAreaElement>();
const chooser = createRef<HTMLInputElement>();
const button = createRef<HTMLButtonElement>();
const files = signal<readonly File[]>([]);
const said = signal<{ readonly text: string; readonly isBad?: boolean }>({ text: '' });

/** The conversation that is being opened to write in it. */
let writingIn: string | undefined;

export const focusBody = (): void => body.current?.focus();

/** Opens a conversation, with the focus in the box. */
export function writeIn(id: string): void {
  writingIn = id;
  goTo(pathOfConversation(id));
}

/** Reports whether a conversation is being opened to write in it. */
export function takeWriting(id: string): boolean {
  const isSo = writingIn === id;
  writingIn = undefined;
  return isSo;
}

/** Forgets the outcome of the last send, and whom a new message was for. */
export function clearComposer(): void {
  said.value = { text: '' };
  recipient.value = undefined;
}

/** Fits the height of the box to its text. */
function grow(): void {
  if (body.current === null) return;
  body.current.style.height = 'auto';
  body.current.style.height = `${Math.min(body.current.scrollHeight, MOST_LINES_PX)}px`;
}

export function addFiles(added: Iterable<File>): void {
  files.value = [...files.value, ...added];
}

/** Sends the message, now or at a time. */
async function send(at?: Date): Promise<void> {
  const text = body.current?.value ?? '';
  if (text === '' && files.value.length === 0) {
    if (at !== undefined) said.value = { text: 'Write the message first.', isBad: true };
    focusBody();
    return;
  }
  const to = openState.value.isNew ? chosenRecipient() : thread.openId;
  if (to === '') {
    said.value = { text: 'Choose whom to write to.', isBad: true };
    focusRecipient();
    return;
  }
  if (button.current !== null) await busily(button.current, () => post(to, text, at));
  focusBody();
}

async function post(to: string, text: string, at: Date | undefined): Promise<void> {
  const startHash = location.hash;
  try {
    const ids = await uploaded();
    const message = await call<Sent>('messages', {
      method: 'POST',
      body: {
        recipient: to,
        body: text,
        ...(ids.length > 0 && { attachment_ids: ids }),
        ...(at !== undefined && { send_at: at.toISOString() }),
      },
    });
    if (body.current !== null) body.current.value = '';
    grow();
    files.value = [];
    said.value = { text: message.approval === undefined ? '' : 'It waits for approval.' };
    if (message.scheduled !== undefined) noteScheduled(message.scheduled);
    else if (message.approval === undefined) await noteSent(message, startHash);
  } catch (error) {
    said.value = { text: reasonOf(error), isBad: true };
  }
}

/** Uploads the chosen files. Returns their ids. */
async function uploaded(): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const [index, file] of files.value.entries()) {
    said.value = { text: `Uploading ${file.name} (${index + 1} of ${files.value.length}) …` };
    ids.push(await upload(file));
  }
  return ids;
}

/** `startHash` is the page's address when the send began. */
async function noteSent(message: Message, startHash: string): Promise<void> {
  const { id, status, conversation_id: conversation } = message;
  if (id === '') said.value = { text: 'Messages has it, but has not stored it yet.' };
  else if (status === 'failed') said.value = { text: 'Messages could not send it.', isBad: true };
  if (conversation === '') return;
  if (conversation === thread.openId && !openState.value.isNew) {
    if (id !== '') thread.add(message.attachments.length === 0 ? message : await withDetails(message));
  } else {
    await showConversations();
    // Opens the conversation only if the user has not navigated to another page since the send began.
    if (location.hash === startHash) goTo(pathOfConversation(conversation));
  }
  if (id !== '' && !areChangesLive()) lookAgain(id, 0);
}

const pathWithDetails = (id: string): string => `messages/${id}?include=${ALL_PARTS}`;

/** Reads a message again with details, because the size of a picture decides whether to convert it. */
const withDetails = (message: Message): Promise<Message> =>
  call<Message>(pathWithDetails(message.id)).catch(() => message);

/**
 * Reads a sent message again after each delay of `LOOK_AGAIN_MS` and shows its status, until the message is delivered
 * or has failed. Stops early if few requests are left.
 */
function lookAgain(id: string, turn: number): void {
  const look = async (): Promise<void> => {
    const message = await call<Message>(pathWithDetails(id), { isByItself: true }).catch(() => undefined);
    if (message === undefined) return;
    thread.update(message, []);
    if (['pending', 'sent'].includes(message.status) && turn + 1 < LOOK_AGAIN_MS.length) lookAgain(id, turn + 1);
  };
  setTimeout(() => void look(), LOOK_AGAIN_MS[turn]);
}

function pressed(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.isComposing || event.shiftKey) return;
  if (!enterSends() && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

export const Composer = (): VNode => (
  <form
    id="send-form"
    class="compose"
    onSubmit={(event) => {
      event.preventDefault();
      void send();
    }}
  >
    <FileList />
    <div class="row bottom">
      <IconButton icon="clip" label="Attach files" run={() => chooser.current?.click()} />
      <SpeakToggle />
      <input
        id="files"
        ref={chooser}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          addFiles(currentTarget.files ?? []);
          currentTarget.value = '';
        }}
      />
      <div class="box">
        <TextBox />
        <SendLater send={send} />
        <button type="submit" id="send" class="sendit" aria-label="Send" ref={button}>
          <Icon name="up" />
        </button>
      </div>
    </div>
    <p id="send-result" class={said.value.isBad ? 'err' : 'hint'} role="status">
      {said.value.text}
    </p>
  </form>
);

function TextBox(): VNode {
  const { id, isNew, conversation } = openState.value;
  const name = conversation === undefined ? addressIn(id ?? '') : nameOf(conversation);
  const isText = /^(?:SMS|RCS)$/.test(conversation?.details?.service ?? '');
  const kind = isNew && recipient.value === undefined ? 'Message' : isText ? 'Text message' : 'iMessage';
  const from = placeName === undefined ? '' : ` from ${placeName}`;
  return (
    <textarea
      id="body"
      ref={body}
      rows={1}
      dir="auto"
      aria-label={`${isNew ? 'Message' : `Message to ${name}`}${from}`}
      placeholder={`${kind}${from}${enterSends() ? '' : ` (${MODIFIER}Enter sends)`}`}
      onInput={grow}
      onPaste={({ clipboardData }) => addFiles(clipboardData?.files ?? [])}
      onKeyDown={pressed}
    />
  );
}

const FileList = (): VNode => (
  <ul id="file-list" class="filters" aria-label="Files to send" hidden={files.value.length === 0}>
    {files.value.map((file) => (
      <li key={`${file.name} ${file.lastModified} ${file.size}`}>
        <Token
          name={file.name}
          remove={() => {
            files.value = files.value.filter((other) => other !== file);
            focusBody();
          }}
        />
      </li>
    ))}
  </ul>
);

// The box for writing a message and attaching files.

import { createRef, type TargetedKeyboardEvent, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { Message } from '../../../../core/model/message.ts';
import { isComposing } from '../../parts/composing.ts';
import { Icon, IconButton } from '../../parts/parts.tsx';
import { toast } from '../../parts/toast.ts';
import { Token } from '../../parts/token.tsx';
import { call, Refusal, upload } from '../../service/api.ts';
import { nameOf } from '../../service/directory.ts';
import { areChangesLive } from '../../service/live.ts';
import { placeName } from '../../service/place.ts';
import { enterSends, MODIFIER } from '../../service/preferences.ts';
import { goTo, pathOfConversation } from '../../service/route.ts';
import { ALL_PARTS } from '../../service/service.ts';
import { addressIn, reasonOf } from '../../service/words.ts';
import { showConversations } from './conversations.tsx';
import { draft, type MessageDraft, moveDraft, outcomeOf, type Sending, type Sent } from './drafts.ts';
import { openState, recipient } from './open-state.ts';
import { noteScheduled } from './scheduled.tsx';
import { SendLater } from './send-later.tsx';
import { SpeakToggle } from './speak.tsx';
import { thread } from './thread.tsx';
import { chosenRecipient, focusRecipient } from './to-line.tsx';

/** Delays before each check of the status of a sent message. Used only if the service does not report changes. */
const LOOK_AGAIN_MS = [1000, 3000, 10_000];
const MOST_LINES_PX = 160;

const body = createRef<HTMLTextAreaElement>();
const chooser = createRef<HTMLInputElement>();

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

/** Fits the height of the box to its text. */
function grow(): void {
  if (body.current === null) return;
  body.current.style.height = 'auto';
  body.current.style.height = `${Math.min(body.current.scrollHeight, MOST_LINES_PX)}px`;
}

export function addFiles(added: Iterable<File>): void {
  draft.value.files.value = [...draft.value.files.value, ...added];
}

/** Sends what the box has, now or at a time. What is sent during another send follows it. */
async function send(at?: Date): Promise<void> {
  const one = draft.value;
  const { text, files, said, isBusy } = one;
  if (one.isEmpty) {
    if (at !== undefined) said.value = { text: 'Write the message first.', isBad: true };
    focusBody();
    return;
  }
  const { isNew, id = '' } = openState.value;
  const to = isNew ? chosenRecipient() : id;
  if (to === '') {
    said.value = { text: 'Choose whom to write to.', isBad: true };
    focusRecipient();
    return;
  }
  const sending: Sending = { to, text: text.value, files: files.value, at };
  focusBody();
  if (isBusy.value) one.queue(sending);
  else await post(one, sending);
}

async function post(one: MessageDraft, first: Sending): Promise<void> {
  one.isBusy.value = true;
  try {
    for (let sending: Sending | undefined = first; sending !== undefined; ) {
      const { hash } = location;
      const message = await posted(one, sending);
      const next = one.removeSent(sending);
      one.said.value = outcomeOf(message);
      if (message.scheduled !== undefined) noteScheduled(message.scheduled);
      else if (message.approval === undefined) await noteSent(message, one, hash);
      sending = next;
    }
  } catch (error) {
    one.dropQueue();
    const reason = whyUnsent(error);
    one.said.value = { text: reason, isBad: true };
    if (draft.peek() !== one) toast(`A message was not sent: ${reason}`, true);
  }
  one.isBusy.value = false;
}

/** At the request limit, leaves the seconds to the banner, which counts them down. */
const whyUnsent = (error: unknown): string =>
  error instanceof Refusal && error.code === 'rate_limited'
    ? 'Not sent: the request limit was reached.'
    : reasonOf(error);

const posted = ({ said, repeatable }: MessageDraft, { to, text, files, at }: Sending): Promise<Sent> =>
  repeatable([to, text, at?.getTime(), ...files], async (idempotencyKey) => {
    const ids: string[] = [];
    for (const [index, file] of files.entries()) {
      said.value = { text: `Uploading ${file.name} (${index + 1} of ${files.length}) …` };
      ids.push(await upload(file));
    }
    return call<Sent>('messages', {
      method: 'POST',
      idempotencyKey,
      body: {
        recipient: to,
        body: text,
        ...(ids.length > 0 && { attachment_ids: ids }),
        ...(at !== undefined && { send_at: at.toISOString() }),
      },
    });
  });

/** `startHash` is the page's address when the send began. */
async function noteSent(message: Message, one: MessageDraft, startHash: string): Promise<void> {
  const { id, conversation_id: conversation } = message;
  if (conversation === '') return;
  if (conversation === thread.openId && !openState.value.isNew) {
    if (id !== '') thread.add(message.attachments.length === 0 ? message : await withDetails(message));
  } else {
    await showConversations().catch(() => {});
    // Opens the conversation only if the user has not navigated to another page since the send began.
    if (location.hash === startHash && draft.peek() === one) {
      moveDraft(one, conversation);
      goTo(pathOfConversation(conversation));
    }
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
  if (event.key !== 'Enter' || isComposing(event) || event.shiftKey) return;
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
        <button type="submit" id="send" class="sendit" aria-label="Send" aria-busy={draft.value.isBusy.value}>
          <Icon name="up" />
        </button>
      </div>
    </div>
    <Outcome />
  </form>
);

function Outcome(): VNode {
  const { text, isBad } = draft.value.said.value;
  return (
    <p id="send-result" class={isBad ? 'err' : 'hint'} role="status">
      {text}
    </p>
  );
}

function TextBox(): VNode {
  const { text } = draft.value;
  const { id, isNew, conversation } = openState.value;
  const name = conversation === undefined ? addressIn(id ?? '') : nameOf(conversation);
  const isText = /^(?:SMS|RCS)$/.test(conversation?.details?.service ?? '');
  const kind = isNew && recipient.value === undefined ? 'Message' : isText ? 'Text message' : 'iMessage';
  const from = placeName === undefined ? '' : ` from ${placeName}`;
  useLayoutEffect(grow, [text.value]);
  return (
    <textarea
      id="body"
      ref={body}
      rows={1}
      dir="auto"
      aria-label={`${isNew ? 'Message' : `Message to ${name}`}${from}`}
      placeholder={`${kind}${from}${enterSends() ? '' : ` (${MODIFIER}Enter sends)`}`}
      value={text.value}
      onInput={({ currentTarget }) => {
        text.value = currentTarget.value;
      }}
      onPaste={({ clipboardData }) => addFiles(clipboardData?.files ?? [])}
      onKeyDown={pressed}
    />
  );
}

function FileList(): VNode {
  const { files } = draft.value;
  return (
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
}

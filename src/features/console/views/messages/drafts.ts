// The unsent text of each conversation.

import { computed, effect, signal } from '@preact/signals';
import type { ScheduledSend } from '../../../../client/scheduled-types.ts';
import type { Message } from '../../../../core/model/message.ts';
import { repeatable } from '../../service/repeatable.ts';
import { openState } from './open-state.ts';

/** Answer to a send: the message, the approval that it waits for, or the scheduled send. */
export type Sent = Message & { readonly approval?: unknown; readonly scheduled?: ScheduledSend };

interface Said {
  readonly text: string;
  readonly isBad?: boolean;
}

/** Says what became of a send; nothing if the thread shows it. It stays on the page, so it says only what has been. */
export function outcomeOf({ id, status, approval }: Sent): Said {
  if (approval !== undefined) return { text: 'Approval was requested.' };
  if (status === 'failed') return { text: 'Messages could not send it.', isBad: true };
  return { text: id === '' ? 'Handed to Messages.' : '' };
}

/** A message on its way to the service. `at` is undefined if it is sent now. */
export interface Sending {
  readonly to: string;
  readonly text: string;
  readonly files: readonly File[];
  readonly at: Date | undefined;
}

export class MessageDraft {
  readonly text = signal('');
  readonly files = signal<readonly File[]>([]);
  /** The outcome of the last send. */
  readonly said = signal<Said>({ text: '' });
  readonly isBusy = signal(false);
  readonly repeatable = repeatable();
  #next: Sending | undefined;

  get isEmpty(): boolean {
    return this.text.peek() === '' && this.files.peek().length === 0;
  }

  /** Keeps a message until the one before it is sent. */
  queue(next: Sending): void {
    this.#next = next;
  }

  /** Removes what was sent, and keeps what was written since. Returns what waited for it. */
  removeSent(sent: Sending): Sending | undefined {
    const next = this.#next;
    this.#next = undefined;
    this.text.value = without(this.text.peek(), sent);
    this.files.value = this.files.peek().filter((file) => !sent.files.includes(file));
    if (next === undefined) return undefined;
    const files = next.files.filter((file) => !sent.files.includes(file));
    const text = without(next.text, sent);
    return text === '' && files.length === 0 ? undefined : { ...next, text, files };
  }

  /** Forgets what waits for a message that could not be sent. It is still in the box. */
  dropQueue(): void {
    this.#next = undefined;
  }
}

const without = (text: string, { text: sent }: Sending): string =>
  text.startsWith(sent) ? text.slice(sent.length).trimStart() : text;

/** Key: the conversation's id, `new` for a new message. */
const drafts = new Map<string, MessageDraft>();

function draftOf(key: string): MessageDraft {
  const draft = drafts.get(key) ?? new MessageDraft();
  drafts.set(key, draft);
  return draft;
}

/** The draft that the page shows: that of the open conversation, or of a new message. */
export const draft = computed(() => draftOf(openState.value.isNew ? 'new' : (openState.value.id ?? '')));

// Keeps the reason of a failed send on the screen, and removes everything else about an earlier send.
effect(() => {
  const { said, isBusy, isEmpty } = draft.value;
  if (!isBusy.peek() && (isEmpty || !said.peek().isBad)) said.value = { text: '' };
});

/** Leaves what else was written in a draft to the conversation that its message began, unless it has a draft. */
export function moveDraft(moved: MessageDraft, conversation: string): void {
  if (drafts.get(conversation)?.isEmpty === false) return;
  for (const [key, one] of drafts) if (one === moved) drafts.delete(key);
  drafts.set(conversation, moved);
}

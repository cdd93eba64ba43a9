// The items of a thread's list: messages, and the days and pauses between them.

import { render } from 'preact';
import { HOUR_MS } from '../../../../core/model/durations.ts';
import type { Message } from '../../../../core/model/message.ts';
import { shownReactions } from '../../../../core/model/message-view.ts';
import type { Reaction } from '../../../../core/model/reaction.ts';
import { dayOf, hourOf } from '../../service/words.ts';
import { type Attachment, attachmentOf } from './attachment-files.ts';
import { isEvent, kindOfReaction, MessageParts, type Noted, replacedBy, type Shown } from './message.tsx';

/** If two messages are further apart than this, the time is shown between them. */
const SILENCE_MS = HOUR_MS;
/** Consecutive messages from one sender within this time form a group. */
const TOGETHER_MS = 3 * 60_000;

/** Returns the attachments of a message. Without details, only their paths are known. */
export const attachmentsIn = ({ id, attachments, details }: Message): readonly Attachment[] =>
  (details?.attachments ?? attachments.map((path) => ({ path }))).map((one, index) => attachmentOf(id, one, index));

const isNoted = (change: string): change is Noted => change === 'edited' || change === 'unsent';

function shownOf(message: Message): Shown {
  const { details, names } = message;
  return {
    message,
    noted: undefined,
    quoted: details?.reply_to,
    reactions: shownReactions(details).map((reaction) => ({ ...reaction, names })),
    attachments: attachmentsIn(message),
  };
}

/** A message in the list. Its element stays the same when the message changes, so that it keeps the focus. */
export class MessageItem {
  readonly element = document.createElement('li');
  #shown: Shown;

  constructor(message: Message) {
    this.#shown = shownOf(message);
    this.element.className = 'msg';
    this.#draw();
  }

  get id(): string {
    return this.#shown.message.id;
  }

  get message(): Message {
    return this.#shown.message;
  }

  /** Reports whether Messages will send this message only after the time of `other`. */
  isLaterThan(other: MessageItem): boolean {
    const { details, timestamp } = this.#shown.message;
    return details?.scheduled !== undefined && timestamp > other.#shown.message.timestamp;
  }

  update(message: Message, changes: readonly string[]): void {
    const { noted, quoted, reactions, attachments } = this.#shown;
    const next = shownOf(message);
    const isSameFile = !changes.includes('attachment') && !changes.includes('transcript');
    this.#shown = {
      ...next,
      noted: changes.find(isNoted) ?? noted,
      // An event without details says nothing about the quotation and the reactions, so the shown ones stay.
      ...(message.details === undefined && { quoted, reactions }),
      // Keeps unchanged attachments, so that their pictures do not load again.
      ...(isSameFile && { attachments }),
    };
    this.#draw();
  }

  /** Adds a reaction, which may replace another one, or removes it. */
  react(reaction: Reaction, isAdded: boolean): void {
    const others = this.#shown.reactions.filter((other) => {
      const isSame = isAdded || kindOfReaction(other) === kindOfReaction(reaction);
      return replacedBy(other) !== replacedBy(reaction) || !isSame;
    });
    this.#shown = { ...this.#shown, reactions: isAdded ? [...others, reaction] : others };
    this.#draw();
  }

  /** Gives the message the focus. */
  focus(): void {
    this.element.tabIndex = -1;
    this.element.focus({ preventScroll: true });
  }

  #draw(): void {
    const { element } = this;
    const { message, reactions } = this.#shown;
    const { is_from_me: isOwn, details } = message;
    const isNotice = isEvent(message);
    const hadFocus = element.contains(document.activeElement);
    element.dataset.id = message.id;
    element.dataset.sender = isNotice ? 'notice' : isOwn ? '' : message.sender;
    element.dataset.time = message.timestamp;
    const kinds = {
      notice: isNotice,
      mine: isOwn && !isNotice,
      failed: message.status === 'failed',
      later: details?.scheduled !== undefined,
      sms: /^(?:SMS|RCS)$/.test(details?.service ?? ''),
      tapped: reactions.length > 0,
    };
    for (const [kind, isSo] of Object.entries(kinds)) element.classList.toggle(kind, isSo);
    render(<MessageParts {...this.#shown} />, element);
    if (hadFocus && !element.contains(document.activeElement)) this.focus();
  }
}

/** Puts sends that are still to be made among the messages that Messages sends later, soonest first. */
export function withLater(elements: readonly HTMLElement[], later: readonly HTMLElement[]): readonly HTMLElement[] {
  const timeOf = ({ dataset: { time = '' } }: HTMLElement): number => Date.parse(time);
  const all = [...elements];
  for (const one of later) {
    const at = all.findIndex((other) => other.matches('.later') && timeOf(other) > timeOf(one));
    all.splice(at < 0 ? all.length : at, 0, one);
  }
  return all;
}

function heading(kind: 'day' | 'gap', text: string): HTMLLIElement {
  const item = document.createElement('li');
  item.className = kind;
  item.textContent = text;
  return item;
}

const isItem = (child: Element): child is HTMLElement => child instanceof HTMLElement;

/**
 * Adds day headings and groups consecutive messages of one sender. Marks the last outgoing message that has not failed
 * and is not still to be sent, so that its receipt is shown.
 */
export function arrange(list: Element): void {
  for (const old of list.querySelectorAll('.day, .gap')) old.remove();
  let before: HTMLElement | undefined;
  let lastOwn: HTMLElement | undefined;
  for (const item of [...list.children].filter(isItem)) {
    const time = item.dataset.time ?? '';
    const at = new Date(time);
    const last = new Date(before?.dataset.time ?? 0);
    const isNewDay = before === undefined || at.toDateString() !== last.toDateString();
    const sinceMs = at.getTime() - last.getTime();
    if (isNewDay) item.before(heading('day', dayOf(at.getTime())));
    else if (sinceMs > SILENCE_MS) item.before(heading('gap', hourOf(time)));
    const isNext = !isNewDay && before?.dataset.sender === item.dataset.sender && sinceMs < TOGETHER_MS;
    item.classList.toggle('first', !isNext);
    before?.classList.toggle('tail', !isNext);
    item.classList.remove('receipted');
    if (item.matches('.mine:not(.failed, .later)')) lastOwn = item;
    before = item;
  }
  before?.classList.add('tail');
  lastOwn?.classList.add('receipted');
}

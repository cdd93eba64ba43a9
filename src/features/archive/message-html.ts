import { isEventKind, type MessageDetails } from '../../core/model/details.ts';
import type { Message } from '../../core/model/message.ts';
import { shownReactions } from '../../core/model/message-view.ts';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import { REACTION_SIGNS, type Reaction } from '../../core/model/reaction.ts';
import { eventSentence, type Notes } from '../../core/model/sentence.ts';
import type { ArchivedFile } from './archived-line.ts';
import { avatarHtml } from './avatar-html.ts';
import { cardsHtml, emptyWords, formerTexts, remarks, textHtml } from './content-html.ts';
import { filesHtml } from './file-html.ts';
import { type Html, html, NO_HTML } from './html.ts';
import type { Calendar } from './page-frame.ts';

/** A message with everything that its page shows about it. */
export interface ShownMessage {
  readonly message: Message;
  readonly files: readonly ArchivedFile[];
  /** The message before each change, from earlier lines of the archive, oldest first. */
  readonly earlier: readonly Message[];
  /** True if the message's row is gone from chat.db. */
  readonly isRemoved: boolean;
}

export interface MessageContext {
  readonly names: NameLookup;
  readonly notes: readonly Notes[];
  readonly calendar: Calendar;
  readonly isGroup: boolean;
  /** Reports whether the message with this guid is certainly on the same page, so that the page can link to it. */
  readonly isOnPage: (guid: string) => boolean;
  /** The previous message of the same day on the page; undefined for the first one. */
  readonly before: Message | undefined;
}

/**
 * Maximum time between two consecutive messages of one sender that are shown below the same line with time and name.
 */
const TURN_MS = 5 * 60_000;
const MAX_BIG_EMOJI = 3;
const EMOJI = /^\p{Extended_Pictographic}(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}\s]|\u200D|\uFE0F)*$/u;
const GUID = /^[\w-]{1,64}$/;

/** Renders one message of a page. */
export function messageHtml(shown: ShownMessage, context: MessageContext): Html {
  const { message } = shown;
  const { details } = message;
  const id = GUID.test(message.guid) && html` id="${message.guid}"`;
  if (details !== undefined && isEventKind(details.kind)) {
    const words = eventWords(message, details, context.names);
    return html`<article${id}><p class="event"><span dir="auto">${message.body || words}</span> · ${context.calendar.time(message.timestamp)}</p></article>
`;
  }
  const isTurn = beginsTurn(message, context.before);
  const classes = [
    message.is_from_me ? 'mine' : 'theirs',
    isTurn && 'turn',
    context.isGroup && 'many',
    shown.isRemoved && 'gone',
  ].filter(Boolean);
  return html`<article${id} class="${classes.join(' ')}">
${isTurn && turnHtml(message, context)}${quote(details, context)}${contentHtml(shown, context)}${reactionsHtml(details, context)}${historyHtml(shown, context)}${noteHtml(message, context)}
</article>
`;
}

/** Renders the line above one or more messages: their time and, for other people in a group, the sender's name. */
function turnHtml(message: Message, { names, isGroup, calendar }: MessageContext): Html {
  const person = personOf(message, names);
  const isNamed = isGroup && !message.is_from_me;
  const who = isNamed && html`${avatarHtml(person, message.sender)}<b><bdi>${person}</bdi></b> `;
  return html`<p class="who">${who}${calendar.time(message.timestamp)}</p>`;
}

/** Returns the sentence that describes an event, with the names that the archive has for people. */
function eventWords(message: Message, details: MessageDetails, names: NameLookup): string {
  const people = [message.sender, details.group_event?.who ?? ''].filter((address) => address !== '');
  const known = Object.fromEntries(people.map((address) => [address, names.nameOf(address) ?? address]));
  return eventSentence(message, details, known) ?? details.sentence ?? '';
}

function beginsTurn(message: Message, before: Message | undefined): boolean {
  if (before === undefined || before.is_from_me !== message.is_from_me || before.sender !== message.sender) return true;
  return Date.parse(message.timestamp) - Date.parse(before.timestamp) > TURN_MS;
}

function personOf({ sender, is_from_me: isMine }: Pick<Message, 'sender' | 'is_from_me'>, names: NameLookup): string {
  if (isMine) return 'Me';
  return names.nameOf(sender) ?? (sender || 'Unknown');
}

/** Renders the message that this one replies to. */
function quote(details: MessageDetails | undefined, { names, isOnPage }: MessageContext): Html {
  const reply = details?.reply_to;
  if (reply === undefined || reply === null) return NO_HTML;
  const who = names.nameOf(reply.sender) ?? reply.sender;
  const text = html`<bdi>${who}</bdi>: <span dir="auto">${reply.body || 'a message'}</span>`;
  return html`<blockquote>${isOnPage(reply.guid) && GUID.test(reply.guid) ? html`<a href="#${reply.guid}">${text}</a>` : text}</blockquote>`;
}

function contentHtml({ message, files }: ShownMessage, context: MessageContext): Html {
  const { body, details } = message;
  if (details?.retracted_at != null) return html`<div class="bubble unsent"><p>This message was unsent.</p></div>`;
  const attachments = filesHtml(details?.attachments ?? [], files);
  const cards = details === undefined ? [] : cardsHtml(details, context);
  const more = html`${attachments.length > 0 && html`<div class="files">${attachments}</div>`}${cards}`;
  const subject = details?.subject !== undefined && html`<p class="subject" dir="auto">${details.subject}</p>`;
  // True if the text adds nothing: often it is only the address of a link, which the link's card already shows.
  const isSaid = body === '' || body === details?.link?.url;
  if (isSaid && subject === false && more.text !== '') {
    return html`${more}${isNamed(details) && html`<p class="note"><bdi>${details?.sentence}</bdi></p>`}`;
  }
  if (body === '' && subject === false) {
    return html`<div class="bubble"><p class="quiet">${emptyWords(details)}</p></div>`;
  }
  const isBig = body.length <= 12 * MAX_BIG_EMOJI && EMOJI.test(body);
  return html`<div class="bubble">${subject}<p class="text${isBig && ' big'}" dir="auto">${textHtml(body, details)}</p></div>${more}`;
}

/** Reports whether `details.sentence` says more than file names do, as for stickers, contact cards and places. */
function isNamed(details: MessageDetails | undefined): boolean {
  return details?.attachments.some(({ sticker, contact, location }) => sticker ?? contact ?? location) === true;
}

function reactionsHtml(details: MessageDetails | undefined, { names }: MessageContext): Html {
  const reactions = shownReactions(details);
  if (reactions.length === 0) return NO_HTML;
  const people = new Map<string, string[]>();
  for (const reaction of reactions) {
    const sign =
      reaction.emoji ??
      REACTION_SIGNS[reaction.reaction_type] ??
      (reaction.reaction_type === 'sticker' ? 'sticker' : 'a reaction');
    people.set(sign, [...(people.get(sign) ?? []), `${personOf(reaction, names)}${onPart(reaction)}`]);
  }
  const items = [...people].map(([sign, who]) => html`<li class="reaction">${sign} <bdi>${who.join(', ')}</bdi></li>`);
  return html`<ul class="reactions" aria-label="Reactions">${items}</ul>`;
}

/** Names the part that a reaction is on, counted as people count. Most messages have only one part. */
function onPart({ part = 0 }: Reaction): string {
  return part === 0 ? '' : ` (part ${part + 1})`;
}

/** Renders a note if the message was deleted, and the message's former texts as far as the archive has them. */
function historyHtml({ message, earlier, isRemoved }: ShownMessage, { calendar }: MessageContext): Html {
  const isUnsent = message.details?.retracted_at != null;
  const former = message.details === undefined ? [] : formerTexts(message.details);
  const texts = [...new Set([...former, ...earlier.map(({ body }) => body)])].filter(
    (body) => body !== '' && (isUnsent || body !== message.body),
  );
  const removed = isRemoved && html`<p class="note bad">Deleted from Messages later.</p>`;
  const at = message.details?.edited_at ?? message.details?.retracted_at;
  const when = typeof at === 'string' && html` ${calendar.moment(at)}`;
  if (texts.length === 0) {
    // The archive began after the edit, so it has only the new text.
    return html`${removed}${!isUnsent && when !== false && html`<p class="note">Edited${when}</p>`}`;
  }
  const items = texts.map((text) => html`<li class="former text" dir="auto">${text}</li>`);
  return html`${removed}<details><summary>${isUnsent ? 'Unsent' : 'Edited'}${when}: earlier text</summary><ul class="history">${items}</ul></details>`;
}

function noteHtml({ details, is_from_me: isMine, status }: Message, { calendar }: MessageContext): Html {
  const words: Html[] = [];
  if (isMine && status === 'failed') words.push(html`<span class="bad">Not delivered</span>`);
  if (isMine && details?.read_at != null) words.push(html`Read ${calendar.time(details.read_at)}`);
  for (const remark of details === undefined ? [] : remarks(details)) words.push(html`<bdi>${remark}</bdi>`);
  const joined = words.flatMap((word, at) => (at === 0 ? [word] : [html` · `, word]));
  return joined.length === 0 ? NO_HTML : html`<p class="note">${joined}</p>`;
}

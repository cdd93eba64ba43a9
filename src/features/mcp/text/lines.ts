import type { Poll } from '../../../client/content-types.ts';
import { chatIdentifier } from '../../../core/model/address.ts';
import type { MessageDetails } from '../../../core/model/details.ts';
import { lookupTable } from '../../../core/model/lookup-table.ts';
import type { Message } from '../../../core/model/message.ts';
import { changeNotes, shownReactions } from '../../../core/model/message-view.ts';
import type { Reaction } from '../../../core/model/reaction.ts';
import { sentenceOf } from '../../../core/model/sentence.ts';
import type { LocalTime } from '../../../core/tools/times.ts';
import { beginning, indented, shortLine } from '../../../core/tools/visible.ts';
import type { Labels } from './labels.ts';

/** Maximum length of one body in a list, in UTF-16 units. */
export const MAX_SHOWN_BODY = 2000;
/** Maximum length of one answer, in UTF-16 units. */
export const MAX_ANSWER = 16_000;

/** The state shared by the lines of one answer. */
export interface LineContext {
  readonly labels: Labels;
  readonly time: LocalTime;
  /**
   * Returns a group's name by its conversation id, or null if the group has none. Returns undefined if the conversation
   * is not a group.
   */
  readonly groupName: (conversationId: string) => string | null | undefined;
  /** The conversation that all lines share, if there is one. The lines then do not name it. */
  readonly conversationId?: string | undefined;
  /** Maximum length of one body in UTF-16 units. `MAX_SHOWN_BODY` by default. */
  readonly maxBody?: number | undefined;
}

/**
 * Writes lines such as `[id] 14:05 Ana: text`, with a heading for each day. A line that begins with `+` has notes on
 * the message above it. A message's text cannot imitate such a line, because the text is indented from its second line
 * on.
 */
export class DayLines {
  readonly #context: LineContext;
  readonly #lines: string[] = [];
  #day = '';
  #length = 0;

  constructor(context: LineContext) {
    this.#context = context;
  }

  message(message: Message): void {
    this.#add(message.timestamp, messageLine(message, this.#context));
  }

  /** Adds a line for a reaction. For a vote, `poll` is the poll that was voted in. */
  reaction(reaction: Reaction, isRemoved: boolean, poll: Poll | undefined): void {
    const said = reaction.details === undefined ? reactedWith(reaction, isRemoved) : rowOfAnother(reaction, poll);
    this.#add(reaction.timestamp, `${lineStart(reaction, this.#context)}${said}`);
  }

  get length(): number {
    return this.#length;
  }

  get text(): string {
    return this.#lines.join('\n');
  }

  #add(timestamp: string, line: string): void {
    const { time } = this.#context;
    const day = time.day(timestamp);
    const heading = day === this.#day ? [] : [headingOf(day, this.#day, time.zone)];
    this.#day = day;
    for (const one of [...heading, line]) {
      this.#lines.push(one);
      this.#length += one.length + 1;
    }
  }
}

/**
 * Returns a day's heading. The first heading has the year and the zone. Later headings omit the zone, and omit the year
 * while it stays the same.
 */
function headingOf(day: string, before: string, zone: string): string {
  if (before === '') return `${day}, ${zone}`;
  const year = day.slice(-5);
  return before.endsWith(year) ? day.slice(0, -5) : day;
}

function messageLine(message: Message, context: LineContext): string {
  // Makes the line's start before its text, so that the author is mentioned first: a person's first mention has the
  // full name.
  const start = lineStart(message, context);
  const said = isSentence(message) ? sentenceFor(message, context) : textOf(message, context);
  const line = said === '' ? `${start}:` : `${start}: ${said}`;
  const notes = notesOf(message, context);
  if (said === '' && notes.length === 0) return `${line}${NOTES}no text`;
  return notes.length === 0 ? line : `${line}${NOTES}${notes.join('; ')}`;
}

const NOTES = '\n+ ';

/** Reports whether the line shows `details.sentence`, Postern's description of the message, instead of its text. */
function isSentence({ body, details }: Message): boolean {
  return details?.sentence !== undefined && (body === '' || details.kind !== 'message');
}

function textOf({ body, details }: Message, { maxBody = MAX_SHOWN_BODY }: LineContext): string {
  const subject = details?.subject === undefined ? '' : `${shortLine(details.subject)}: `;
  return subject + beginning(indented(beginning(body, maxBody)), maxBody);
}

function sentenceFor(message: Message, { labels }: LineContext): string {
  const { details, sender } = message;
  if (details?.sentence === undefined) return '';
  if (details.group_event === undefined && details.location_share === undefined) return indented(details.sentence);
  const people = [sender, details.group_event?.who ?? ''].filter((address) => address !== '');
  const names = Object.fromEntries(people.map((address) => [address, labels.person(address)]));
  return indented(sentenceOf(message, details, names));
}

/** Returns the notes on a message. Names of files are in quotes, because other people chose them. */
function notesOf(message: Message, context: LineContext): readonly string[] {
  const { id, body, status, is_from_me: isOwn, details } = message;
  const { maxBody = MAX_SHOWN_BODY } = context;
  const isCut = !isSentence(message) && (body.length > maxBody || indented(body).length > maxBody);
  return [
    ...(isOwn && (status === 'failed' || status === 'pending') ? [status] : []),
    ...(isCut ? [`cut here: messages_read with message_id "${id}" has the rest`] : []),
    ...fileNotes(message),
    ...(details === undefined ? [] : detailNotes(message, details, context)),
  ];
}

const ABSENT: Readonly<Record<string, string>> = lookupTable({
  downloading: ' (not here yet)',
  in_cloud: ' (only in iCloud)',
  missing: ' (not on this Mac)',
});

/** Returns the number and the name of each file, and why it cannot be fetched. */
function fileNotes({ attachments, details }: Message): readonly string[] {
  const known = (details?.attachments ?? []).map(({ n, name, state }, index) => ({
    ...{ n: n ?? index, name },
    absent: ABSENT[state] ?? '',
  }));
  const paths = attachments.map((path, n) => ({ n, name: path.slice(path.lastIndexOf('/') + 1), absent: '' }));
  const files = known.length > 0 ? known : paths;
  return files.map(({ n, name, absent }) => `file ${n}: ${inQuotes(name, 80)}${absent}`);
}

/**
 * Returns notes on edits, scheduled time and reactions. If the line shows `details.sentence` instead of the text, also
 * notes the message's kind.
 */
function detailNotes(message: Message, details: MessageDetails, { labels, time }: LineContext): readonly string[] {
  const { kind, scheduled, retracted_at: retractedAt } = details;
  const reactions = shownReactions(details).map(({ is_from_me: isOwn, sender, emoji, reaction_type: type, part }) => {
    const sign = shortLine(emoji ?? type.replace('_', ' '), 20).replaceAll(/[;,]/g, ' ');
    return `${isOwn ? 'me' : labels.person(sender)} ${sign}${onPart(part)}`;
  });
  return [
    ...(isSentence(message) && kind !== 'message' ? [kind.replace('_', ' ')] : []),
    ...(retractedAt === null ? [] : ['unsent']),
    // A sentence that stands for the text says how the message was changed.
    ...(isSentence(message) ? [] : changeNotes(details)),
    ...(scheduled === undefined ? [] : [`to be sent ${time.day(scheduled.for)} ${time.time(scheduled.for)}`]),
    ...(reactions.length === 0 ? [] : [`reactions: ${reactions.slice(0, MAX_REACTIONS).join(', ')}`]),
  ];
}

function inQuotes(text: string, max = 60): string {
  return `"${shortLine(text, max).replaceAll('"', "'")}"`;
}

/** Maximum number of reactions named in a line. */
const MAX_REACTIONS = 20;

/** Names the part of a message that a reaction is on. Most messages have only one part, which needs no name. */
const onPart = (part = 0): string => (part === 0 ? '' : ` on part ${part}`);

function reactedWith(reaction: Reaction, isRemoved: boolean): string {
  const sign = reaction.emoji ?? reaction.reaction_type.replace('_', ' ');
  const message = reaction.message_id === '' ? 'a message' : `[${reaction.message_id}]`;
  const target = reaction.part ? `part ${reaction.part} of ${message}` : message;
  const action = isRemoved ? `took back ${shortLine(sign, 20)} from` : `reacted ${shortLine(sign, 20)} to`;
  return ` ${action} ${target}`;
}

/**
 * Describes a reaction of the type `other`. Describes a vote in a poll by its choices, and any other row by its
 * `details.sentence`.
 */
function rowOfAnother({ details, message_id: id }: Reaction, poll: Poll | undefined): string {
  const choices = details?.poll_vote?.choices ?? [];
  const chosen = (poll?.options ?? []).filter((option) => choices.includes(option.id));
  // Other people wrote the options, so they are always in quotes.
  const texts = chosen.slice(0, MAX_CHOICES).map(({ text = '?' }) => inQuotes(text));
  if (texts.length > 0) return ` voted for ${texts.join(', ')} in poll${id === '' ? '' : ` [${id}]`}`;
  const kind = details?.kind.replace('_', ' ') ?? 'reaction';
  return `: ${indented(details?.sentence ?? '')}${NOTES}${kind}${id === '' ? '' : ` of [${id}]`}`;
}

/** Maximum number of choices named in a line. */
const MAX_CHOICES = 10;

/**
 * Returns the id, time and author of a row. Adds the row's conversation, unless the conversation is
 * `context.conversationId`.
 */
function lineStart(row: Message | Reaction, context: LineContext): string {
  const { labels, time, groupName, conversationId } = context;
  const who = row.is_from_me ? 'me' : labels.person(row.sender);
  const start = `[${row.id}] ${time.time(row.timestamp)} ${who}`;
  if (row.conversation_id === conversationId || row.conversation_id === '') return start;
  const name = groupName(row.conversation_id);
  if (name !== undefined) return `${start} in ${labels.group(row.conversation_id, name)}`;
  return row.is_from_me ? `${start} to ${labels.person(chatIdentifier(row.conversation_id))}` : start;
}

import type { MessageContent } from './content.ts';
import type { AttachmentDetails, MessageDetails } from './details.ts';
import type { Message } from './message.ts';
import { changeNotes } from './message-view.ts';
import type { Names } from './names.ts';
import type { ReactionDetails } from './reaction.ts';

const MAX_CHARACTERS = 200;
/** Only this many characters of a text are read. Later ones cannot appear in the sentence. */
const MAX_READ = 2000;
const NO_NAMES: Names = {};

export type DescribedRow = MessageContent &
  Pick<MessageDetails, 'retracted_at' | 'edited_at' | 'attachments'> & {
    readonly kind: MessageDetails['kind'] | ReactionDetails['kind'];
    /** True if the row has a text that could not be read. */
    readonly isTextUnread?: boolean;
  };
/** How a feature says what it adds to the details. */
export interface Notes {
  /** Describes a row by its content; undefined for a row that is described by its text. */
  rowNote?(details: DescribedRow, body: string): string | undefined;
  /** Describes a message that is nothing but this file. */
  fileNote?(file: AttachmentDetails): string | undefined;
}

type WrittenRow = Pick<Message, 'body' | 'sender' | 'is_from_me'>;
type ConversationEvent = Pick<DescribedRow, 'group_event' | 'location_share'> & Partial<Pick<DescribedRow, 'kind'>>;

/**
 * Returns one sentence for a row (decision V1): one line of at most 200 characters. The sentence has a subject for an
 * event ("Ana added Ben."), but none for content ("Poll: Pizza, Soup"). Apple's texts are quoted, not interpreted.
 */
export function sentenceOf(
  message: WrittenRow,
  details: DescribedRow,
  names: Names = NO_NAMES,
  added: readonly Notes[] = [],
): string {
  if (details.retracted_at !== null) return 'Unsent a message';
  const event = eventSentence(message, details, names);
  if (event !== undefined) return event;
  const { body } = message;
  const card = rowNote(details, body, added) ?? (body === '' ? fileNote(details, added) : undefined);
  const notes = notesOf(details, card === undefined);
  const text = bodySentence(card ?? textOf(body, details));
  const subject = details.subject === undefined ? '' : `${bodySentence(details.subject)}: `;
  const nothing = details.isTextUnread === true ? 'Text could not be read' : notes.length === 0 ? 'Empty message' : '';
  const note = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  // A long text is cut, and the notes stay: nobody could guess what they say.
  return `${bodySentence(`${subject}${text || nothing}`, MAX_CHARACTERS - note.length)}${note}`.trim();
}

/** Returns the text as a sentence: one line of at most `max` characters. */
export function bodySentence(text: string, max = MAX_CHARACTERS): string {
  // Non-breaking spaces stay.
  const flat = text
    .slice(0, MAX_READ)
    .replace(/[\t-\r \u0085\u2028\u2029]+/g, ' ')
    .trim();
  return flat.length <= max ? flat : Array.from(flat).slice(0, max).join('');
}

/** Describes an event of a conversation, such as a new member. Returns undefined for a row with content. */
export function eventSentence(
  person: Pick<WrittenRow, 'sender' | 'is_from_me'>,
  details: ConversationEvent,
  names: Names,
): string | undefined {
  const words = eventWords(person, details, names);
  return words === undefined ? undefined : bodySentence(words);
}

function eventWords(
  { sender, is_from_me: isOwn }: Pick<WrittenRow, 'sender' | 'is_from_me'>,
  details: ConversationEvent,
  names: Names,
): string | undefined {
  const nameOf = (address: string): string => (Object.hasOwn(names, address) ? (names[address] ?? address) : address);
  const who = isOwn ? 'You' : nameOf(sender) || 'Someone';
  const { group_event: event, location_share: share, kind } = details;
  if (share !== undefined) {
    return share.by_me ? `You ${share.action} sharing your location.` : `${who} ${share.action} sharing location.`;
  }
  if (kind === 'audio_kept') return 'An audio message was kept.';
  if (kind === 'shareplay') return 'SharePlay';
  if (kind === 'other') return 'This version of Postern does not know this kind of entry.';
  if (event === undefined) return undefined;
  const whom = event.who === undefined ? 'someone' : nameOf(event.who);
  switch (event.type) {
    case 'added':
    case 'removed':
      return `${who} ${event.type} ${whom}.`;
    case 'address_changed':
      if (event.who !== undefined && event.who !== sender) return `${who} no longer uses ${event.who}.`;
      return `${who} changed their ${event.who?.includes('@') === true ? 'address' : 'phone number'}.`;
    case 'renamed':
      return `${who} named the conversation “${event.name ?? ''}”.`;
    case 'name_removed':
      return `${who} removed the name of the conversation.`;
    case 'left':
      return `${who} left the conversation.`;
    case 'photo_set':
      return `${who} changed the group photo.`;
    case 'photo_removed':
      return `${who} removed the group photo.`;
    case 'background_set':
      return `${who} changed the background.`;
    case 'background_removed':
      return `${who} removed the background.`;
    default:
      return `${who} changed the conversation.`;
  }
}

/** Describes a message without text by its attachments. */
function fileNote({ transcript, attachments, parts = [] }: DescribedRow, added: readonly Notes[]): string | undefined {
  if (transcript !== undefined) return `Voice message: “${bodySentence(transcript)}”`;
  const [file, another] = attachments;
  if (file === undefined) return undefined;
  if (another !== undefined) return `${attachments.length} attachments`;
  const { mime_type: type, folder } = file;
  if (folder === true) return `Folder: ${file.name.replace(/\.tar$/, '')}`;
  const note = firstOf(added, (one) => one.fileNote?.(file));
  if (note !== undefined) return note;
  if (parts.some(({ runs = [] }) => runs.some(({ inline }) => inline === true))) return 'Genmoji';
  const kind = FILE_KINDS.find(([start]) => type?.startsWith(start))?.[1];
  return kind === undefined ? `File: ${file.name}` : kind;
}

/** Returns how a feature describes a row by its content. */
export function rowNote(details: DescribedRow, body: string, added: readonly Notes[]): string | undefined {
  return firstOf(added, (one) => one.rowNote?.(details, body));
}

function firstOf(added: readonly Notes[], note: (one: Notes) => string | undefined): string | undefined {
  for (const one of added) {
    const found = note(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

const FILE_KINDS = [
  ['image/', 'Photo'],
  ['video/', 'Video'],
  ['audio/', 'Voice message'],
] as const;

/** Returns the text with a space in place of each attachment. */
function textOf(body: string, { parts }: DescribedRow): string {
  if (parts === undefined) return body;
  return parts.map(({ text }) => text.slice(0, MAX_READ).replaceAll('\uFFFC', ' ')).join(' ');
}

/** Returns the notes that follow the sentence in brackets, such as "edited" or "2 attachments". */
function notesOf(details: DescribedRow, isText: boolean): readonly string[] {
  const { scheduled } = details;
  const notes: string[] = [];
  if (details.isTextUnread === true && details.kind === 'message' && !isText) notes.push('text could not be read');
  const files = isText ? countOfFiles(details) : 0;
  if (files > 0) notes.push(files === 1 ? '1 attachment' : `${files} attachments`);
  notes.push(...changeNotes(details));
  if (scheduled !== undefined) notes.push(`to be sent ${scheduled.for.slice(0, 16).replace('T', ' ')}`);
  return notes;
}

/**
 * Returns the number of attachments, not counting inline images. Uses the number of placeholders if it is higher,
 * because the list of attachments may be late.
 */
function countOfFiles({ attachments, parts = [] }: DescribedRow): number {
  const runs = parts.flatMap((part) => part.runs ?? []);
  const placeholders = runs.filter((run) => run.attachment_guid !== undefined && run.inline !== true).length;
  const pictures = runs.filter((run) => run.inline === true).length;
  return Math.max(placeholders, attachments.length - pictures);
}

import type { AppCard, DigitalTouch, LinkPreview, Poll } from './cards.ts';
import type { MessageContent } from './content.ts';
import type { MessageDetails } from './details.ts';
import type { Message } from './message.ts';
import { changeNotes } from './message-view.ts';
import type { Names } from './names.ts';
import type { ReactionDetails } from './reaction.ts';

const MAX_CHARACTERS = 200;
/** Only this many characters of a text are read. Later ones cannot appear in the sentence. */
const MAX_READ = 2000;
const NO_NAMES: Names = {};

type DescribedRow = MessageContent &
  Pick<MessageDetails, 'retracted_at' | 'edited_at' | 'attachments'> & {
    readonly kind: MessageDetails['kind'] | ReactionDetails['kind'];
    /** True if the row has a text that could not be read. */
    readonly isTextUnread?: boolean;
  };
type WrittenRow = Pick<Message, 'body' | 'sender' | 'is_from_me'>;
type ConversationEvent = Pick<DescribedRow, 'group_event' | 'location_share'> & Partial<Pick<DescribedRow, 'kind'>>;

/**
 * Returns one sentence for a row (decision V1): one line of at most 200 characters. The sentence has a subject for an
 * event ("Ana added Ben."), but none for content ("Poll: Pizza, Soup"). Apple's texts are quoted, not interpreted.
 */
export function sentenceOf(message: WrittenRow, details: DescribedRow, names: Names = NO_NAMES): string {
  if (details.retracted_at !== null) return 'Unsent a message';
  const event = eventSentence(message, details, names);
  if (event !== undefined) return event;
  const card = cardSentence(message.body, details);
  const notes = notesOf(details, card === undefined);
  const text = bodySentence(card ?? textOf(message.body, details));
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

/** Describes a card, a poll or a file; returns undefined for a row that is plain text. */
function cardSentence(body: string, details: DescribedRow): string | undefined {
  const { kind, link, app, poll, digital_touch: touch } = details;
  if (details.poll_update !== undefined) return 'Added an option to a poll';
  switch (kind) {
    case 'poll_vote':
      return details.poll_vote?.choices.length === 0 ? 'Took back a vote in a poll' : 'Voted in a poll';
    case 'poll_update':
      return 'Added an option to a poll';
    case 'link':
      return linkSentence(link, body);
    case 'app':
      return appSentence(app, body);
    case 'poll':
      return pollSentence(poll);
    case 'handwriting':
      return 'Handwritten message';
    case 'digital_touch':
      return digitalTouchSentence(touch);
    default:
      return body === '' ? fileSentence(details) : undefined;
  }
}

/** Describes a message without text by its attachments. */
function fileSentence({ transcript, attachments, parts = [] }: DescribedRow): string | undefined {
  if (transcript !== undefined) return `Voice message: “${bodySentence(transcript)}”`;
  const [file, another] = attachments;
  if (file === undefined) return undefined;
  if (another !== undefined) return `${attachments.length} attachments`;
  const { sticker, contact, location, mime_type: type, folder } = file;
  if (folder === true) return `Folder: ${file.name.replace(/\.tar$/, '')}`;
  if (sticker !== undefined) return stickerSentence(sticker);
  if (contact !== undefined) {
    return `Contact: ${contact.name ?? contact.organization ?? contact.phones[0] ?? 'no name'}`;
  }
  if (location !== undefined) {
    const { latitude, longitude, name, url } = location;
    if (latitude !== undefined && longitude !== undefined) {
      return `Location: ${fiveDigits(latitude)}, ${fiveDigits(longitude)}`;
    }
    return `Location: ${name ?? url ?? 'unknown'}`;
  }
  if (parts.some(({ runs = [] }) => runs.some(({ inline }) => inline === true))) return 'Genmoji';
  const kind = FILE_KINDS.find(([start]) => type?.startsWith(start))?.[1];
  return kind === undefined ? `File: ${file.name}` : kind;
}

const FILE_KINDS = [
  ['image/', 'Photo'],
  ['video/', 'Video'],
  ['audio/', 'Voice message'],
] as const;

const fiveDigits = (degrees: number): string => String(Math.round(degrees * 100_000) / 100_000);

function stickerSentence(sticker: NonNullable<DescribedRow['attachments'][number]['sticker']>): string {
  switch (sticker.source) {
    case 'genmoji':
      return sticker.description === undefined ? 'Genmoji' : `Genmoji: ${sticker.description}`;
    case 'memoji':
      return 'Memoji sticker';
    case 'app':
      return `Sticker from ${sticker.app_name ?? sticker.bundle_id ?? 'an app'}`;
    default:
      return sticker.effect === undefined ? 'Sticker' : `Sticker (${sticker.effect})`;
  }
}

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

/** Describes a link by its preview. `body` is the text that contains the link. */
export function linkSentence(link: LinkPreview | undefined, body: string): string {
  if (link === undefined) return body === '' ? 'Link' : body;
  const { title, url = '', music, app_store: app, place } = link;
  switch (link.type) {
    case 'music':
      return `Music: ${[music?.track ?? title ?? url, music?.artist].filter(Boolean).join(' by ')}`;
    case 'app_store':
      return `App: ${app?.name ?? title ?? url}`;
    case 'place':
      return `Place: ${place?.address ?? place?.name ?? title ?? url}`;
    case 'document':
      return `Shared document: ${title ?? url}`;
    default:
      return title === undefined ? `Link: ${url}` : `Link: ${title} (${url})`;
  }
}

/** Describes an app's card by its summary (Apple's apps) or its visible texts (other apps), or else by `body`. */
export function appSentence(app: AppCard | undefined, body: string): string {
  if (app === undefined) return body || 'App message';
  if (app.business !== undefined) return businessSentence(app.business);
  const { type, name, caption, summary, title, subcaption } = app;
  const says = type === 'app' ? (caption ?? title ?? summary ?? subcaption) : (summary ?? caption ?? subcaption);
  if (says === undefined) return body || (name ?? `App message (${app.bundle_id})`);
  if (name === undefined) return `App message: ${says}`;
  return says.startsWith(name) ? says : `${name}: ${says}`;
}

function businessSentence({
  type,
  title,
  summary,
  options,
  selected,
  items = [],
  answers = [],
}: NonNullable<AppCard['business']>): string {
  const question = title ?? summary ?? '';
  switch (type) {
    case 'quick_reply':
      return selected === undefined ? `Question: ${withChoices(question, options)}` : `Answered “${selected}”`;
    case 'list_picker': {
      const chosen = items.filter((item) => item.selected).map((item) => item.title);
      if (chosen.length > 0) return `Answered ${chosen.map((one) => `“${one}”`).join(', ')}`;
      return `Question: ${withChoices(
        question,
        items.map((item) => item.title),
      )}`;
    }
    case 'form_response':
      return `Answers: ${answers.map((one) => `${one.question} ${one.answers.join(', ')}`).join('; ')}`;
    default:
      return question === '' ? 'Form' : `Form: ${question}`;
  }
}

function withChoices(question: string, choices: readonly string[] = []): string {
  if (choices.length === 0) return question;
  return question === '' ? choices.join(', ') : `${question} (${choices.join(', ')})`;
}

/** Describes a poll by its question and options, with the votes for each option once there are any. */
function pollSentence(poll: Poll | undefined): string {
  if (poll === undefined) return 'Poll';
  const { question, options } = poll;
  const hasVotes = options.some(({ votes }) => votes.length > 0);
  const choices = options.map(({ text = '?', votes }) => (hasVotes ? `${text} (${votes.length})` : text)).join(', ');
  if (question === undefined) return choices === '' ? 'Poll' : `Poll: ${choices}`;
  if (choices === '') return `Poll: ${question}`;
  return hasVotes ? `Poll: ${question} ${choices}` : `Poll: ${question} (${choices})`;
}

function digitalTouchSentence(touch: DigitalTouch | undefined): string {
  const says = touch && digitalTouchText(touch);
  return says === undefined ? 'Digital Touch' : `Digital Touch: ${says}`;
}

function digitalTouchText({
  type,
  count = 0,
  bpm,
  strokes = 0,
  drawing_strokes: drawn = 0,
}: DigitalTouch): string | undefined {
  switch (type) {
    case 'tap':
      return count === 1 ? '1 tap' : `${count} taps`;
    case 'kiss':
      return count === 1 ? '1 kiss' : `${count} kisses`;
    case 'heartbeat':
      return `heartbeat, ${Math.round(bpm ?? 0)} beats a minute`;
    case 'sketch':
      return strokes === 1 ? 'sketch of 1 stroke' : `sketch of ${strokes} strokes`;
    case 'photo':
      return drawn > 0 ? 'photo with a drawing' : 'photo';
    case 'other':
      return undefined;
    default:
      return type;
  }
}

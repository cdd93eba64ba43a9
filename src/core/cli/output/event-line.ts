import { basename } from 'node:path';
import type { ChangeEvent, Event } from '../../model/event.ts';
import type { Message } from '../../model/message.ts';
import type { Names } from '../../model/names.ts';
import type { Reaction } from '../../model/reaction.ts';
import { directionStyle, type Paint } from './style.ts';
import type { Column } from './table.ts';
import { fitted, oneLine } from './text.ts';
import { shownTime } from './time.ts';

/** The columns of a list of messages. */
export const MESSAGE_LIST: readonly Column[] = [
  { title: 'ROW' },
  { title: 'TIME', style: () => 'dim' },
  { title: ' ', style: directionStyle },
  { title: 'WHO', isFlexible: true, least: 12 },
  { title: 'TEXT', isFlexible: true, least: 20 },
];

/** Returns a message as a row of `MESSAGE_LIST`. */
export function messageRow(message: Message, nowMs: number): readonly string[] {
  const { id, timestamp, is_from_me: isOwn } = message;
  return [id, shownTime(timestamp, nowMs), isOwn ? '→' : '←', whoIn(message), messageText(message)];
}

/**
 * Returns an event as one line: time, direction, person, text. A change has no time, so the line shows the current
 * time.
 */
export function eventLine(event: Event | ChangeEvent, nowMs: number): string {
  const now = shownTime(new Date(nowMs).toISOString(), nowMs);
  switch (event.type) {
    case 'message.received':
    case 'message.sent':
      return line(shownTime(event.data.timestamp, nowMs), event.data, messageText(event.data));
    case 'reaction.added':
    case 'reaction.removed':
      return line(shownTime(event.data.timestamp, nowMs), event.data, reactionText(event.type, event.data));
    case 'message.updated':
      return line(now, event.data, updateText(event));
    case 'message.removed': {
      const { id, conversation_id: conversation } = event.data;
      return `${now} · ${oneLine(conversation.split(/;[+-];/).at(-1) ?? '') || '?'}  message ${id} removed`;
    }
    default: {
      const { first_id: first, last_id: last, count } = event.data;
      return `${now} · ${count} messages changed, between ${first} and ${last}: read them again`;
    }
  }
}

const BEGINNING = /^((?:\d{4}-\d\d-\d\d )?[\d:]+) ([←→·])/;

/** Returns the line of an event in colour, cut to `columns`. */
export function shownEvent(
  event: Event | ChangeEvent,
  nowMs: number,
  { columns, paint }: { readonly columns: number | undefined; readonly paint: Paint },
): string {
  const whole = eventLine(event, nowMs);
  const text = columns === undefined ? whole : fitted(whole, columns);
  return text.replace(BEGINNING, (_, time: string, arrow: string) => {
    const style = arrow === '·' ? 'dim' : directionStyle(arrow);
    return `${paint('dim', time)} ${paint(style, arrow)}`;
  });
}

function line(time: string, data: Message | Reaction, what: string): string {
  return `${time} ${data.is_from_me ? '→' : '←'} ${macIn(data)}${whoIn(data)}  ${what}`;
}

/** Returns the name of the Mac that an event of several is from, as a hub gives it. */
function macIn(data: Message | Reaction): string {
  return 'mac' in data && typeof data.mac === 'string' ? `${oneLine(data.mac)}  ` : '';
}

/**
 * Returns one line: a message's text, or the sentence that describes the message, then the names of the message's
 * files.
 */
function messageText({ body, attachments, status, details }: Message): string {
  // For a message with text and files, shows the text. The sentence in `details` would only count the files, and the
  // files' names follow anyway.
  const known = details?.attachments.map(({ name }) => name) ?? [];
  const names = known.length > 0 ? known : attachments.map((path) => basename(path));
  const says = body !== '' && names.length > 0 ? body : (details?.sentence ?? body);
  const files = names.map((name) => `[${oneLine(name)}]`);
  const failed = status === 'failed' ? ['(failed)'] : [];
  return [oneLine(says), ...files, ...failed].filter((part) => part !== '').join(' ');
}

/** Returns the recipient of an outgoing message or tapback; for an incoming one, the sender and any group. */
function whoIn({ sender, conversation_id: id, is_from_me: isOwn, names = {} }: Message | Reaction): string {
  const [, style = '', counterpart = id] = id.split(/;([+-]);/);
  if (isOwn) return oneLine(withName(counterpart, names)) || '?';
  const who = withName(sender || (style === '+' ? '' : counterpart), names);
  return oneLine(style === '+' ? `${who} in ${counterpart}` : who) || '?';
}

/** Returns a name with its address, because several people may have the same name. */
export function withName(address: string, names: Names): string {
  // Reads only own properties, because an address can be any text, such as `constructor`.
  const name = Object.hasOwn(names, address) ? names[address] : undefined;
  return name === undefined ? address : `${name} (${address})`;
}

function reactionText(type: Event['type'], reaction: Reaction): string {
  const name = oneLine(reaction.emoji ?? reaction.reaction_type.replace('_', ' '));
  if (reaction.details !== undefined) return oneLine(reaction.details.sentence);
  const message = reaction.message_id === '' ? 'a message' : `message ${reaction.message_id}`;
  const target = reaction.part ? `part ${reaction.part} of ${message}` : message;
  return type === 'reaction.removed' ? `took ${name} back from ${target}` : `reacted with ${name} to ${target}`;
}

function updateText({ data, changes }: Extract<ChangeEvent, { type: 'message.updated' }>): string {
  const what = changes.map((name) => (name === 'attachment' ? 'attachment changed' : name)).join(', ');
  const hasText = changes.includes('edited') || changes.includes('attachment') || changes.includes('restored');
  return `message ${data.id} ${what}${hasText ? `: ${messageText(data)}` : ''}`;
}

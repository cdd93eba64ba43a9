// An event in one line.

import { counted } from '../../../../core/model/figures.ts';
import type { Message } from '../../../../core/model/message.ts';
import type { Names } from '../../../../core/model/names.ts';
import { isNotice, symbolOf } from '../../service/content.ts';
import type { LiveEvent, Taken } from '../../service/live.ts';
import { idOn, macOf } from '../../service/place.ts';
import { addressIn, personOf } from '../../service/words.ts';

export const GROUPS = [
  ['received', 'Received'],
  ['sent', 'Sent'],
  ['reactions', 'Reactions'],
  ['changes', 'Changes'],
  ['removed', 'Removed'],
] as const;
export type Group = (typeof GROUPS)[number][0];

const GROUP_OF: Readonly<Record<LiveEvent['type'], Group>> = {
  'message.received': 'received',
  'message.sent': 'sent',
  'reaction.added': 'reactions',
  'reaction.removed': 'reactions',
  'message.updated': 'changes',
  'messages.changed': 'changes',
  'message.removed': 'removed',
};

/** A later service may send types that this page does not know. */
export const groupOf = (type: LiveEvent['type']): Group => GROUP_OF[type] ?? 'changes';

function messageText({ body, attachments, details }: Message): string {
  // The sentence about a text also has the number of attachments, whose names follow here, and when Messages sends it,
  // which a tag says.
  const isText = body !== '' && (attachments.length > 0 || details?.scheduled !== undefined);
  const says = isText ? body : (details?.sentence ?? body);
  return [says, ...attachments.map((path) => `[${path.split('/').at(-1)}]`)].filter((part) => part !== '').join(' ');
}

function quoted(message: Message | undefined): string {
  const text = message && messageText(message);
  return text ? `“${text}”` : 'a message';
}

/** The name of the person who acted, and what they did. The name is empty if the text is a whole sentence. */
export type Sentence = readonly [who: string, text: string];

/** Finds the names in a conversation. */
type NamesIn = (conversation: string, mac?: string) => Names | undefined;

/** `messageOf` finds the message of an earlier event, `namesIn` what an event of a hub lacks. */
export function sentenceOf(
  event: LiveEvent,
  messageOf: (id: string) => Message | undefined,
  namesIn: NamesIn = () => undefined,
): Sentence {
  const whoOf = (data: Written): string =>
    isNotice(data) ? '' : data.is_from_me ? 'You' : personOf(data.sender, namesOf(data, namesIn));
  switch (event.type) {
    case 'message.removed':
      return ['', `${quoted(messageOf(event.data.id))} was deleted`];
    case 'messages.changed': {
      const { count, first_id: first, last_id: last } = event.data;
      return ['', `${counted(count, 'message')} changed, between ${first} and ${last}`];
    }
    case 'reaction.added':
    case 'reaction.removed': {
      const { details, message_id: id } = event.data;
      if (details?.sentence !== undefined) return [whoOf(event.data), uncapital(details.sentence)];
      const took = event.type === 'reaction.removed' ? 'took back ' : '';
      return [whoOf(event.data), `${took}${symbolOf(event.data)} to ${quoted(messageOf(id))}`];
    }
    default: {
      const { data } = event;
      if (data.details?.retracted_at && data.body === '') return [whoOf(data), uncapital(messageText(data))];
      if (event.type !== 'message.updated') {
        if (isNotice(data)) return actIn(data, namesOf(data, namesIn));
        // A hub passes on no details, such as those of a poll.
        return [whoOf(data), messageText(data) || 'something other than text'];
      }
      return changeIn(data, event.changes, [whoOf(data), namesOf(data, namesIn)]);
    }
  }
}

/** Takes the name out of the sentence of a notice, if it begins with one. */
function actIn(data: Message, names: Names | undefined): Sentence {
  const text = messageText(data);
  const who = data.is_from_me ? 'You' : personOf(data.sender, names);
  return text.startsWith(`${who} `) ? [who, text.slice(who.length + 1)] : ['', text];
}

/** Nobody can edit a line that only reports a change of the conversation. */
const whatChanged = (data: Message, changes: readonly string[]): string =>
  changes.filter((one) => one !== 'edited' || !isNotice(data)).join(', ') || 'changed';

function changeIn(
  data: Message,
  changes: readonly string[],
  [who, names]: readonly [string, Names | undefined],
): Sentence {
  if (changes.includes('failed')) return ['', `${quoted(data)} was not delivered`];
  const what = whatChanged(data, changes);
  if (what === 'delivered') return ['', `${quoted(data)} was delivered`];
  if (what !== 'read') return [who, `${what}: ${quoted(data)}`];
  if (!data.is_from_me) return ['You', `read ${quoted(data)}`];
  // Messages does not record who in a group has read a message. Only in a direct conversation is the reader known.
  return data.conversation_id.includes(';-;')
    ? [personOf(addressIn(data.conversation_id), names), `read ${quoted(data)}`]
    : ['', `${quoted(data)} was read`];
}

/** Reports whether an own message was not delivered, as far as its event or a later one says. */
export function isUndelivered({ type, data }: LiveEvent, messageOf: (id: string) => Message | undefined): boolean {
  if (type !== 'message.sent' && type !== 'message.updated') return false;
  return data.is_from_me && (messageOf(data.id) ?? data).status === 'failed';
}

/** An event in the list. */
export interface ListedEvent extends Taken {
  /** How many events it stands for, if it is more than one. */
  readonly count?: number;
}

/** Returns when Messages sends the event's message later; undefined for any other event. */
export const sendAtOf = ({ type, data }: LiveEvent): string | undefined =>
  type === 'message.received' || type === 'message.sent' ? data.details?.scheduled?.for : undefined;

/** Returns the conversation in which the owner read a message; undefined if the event reports anything else. */
const readIn = ({ event }: Taken): string | undefined =>
  event.type === 'message.updated' && whatChanged(event.data, event.changes) === 'read' && !event.data.is_from_me
    ? idOn(event.data.conversation_id, macOf(event.data))
    : undefined;

/** Leaves of messages that were read one after another in a conversation only the newest event. */
export function folded(events: readonly Taken[]): readonly ListedEvent[] {
  const rows: ListedEvent[] = [];
  for (const one of events) {
    const last = rows.at(-1);
    const place = readIn(one);
    if (last === undefined || place === undefined || place !== readIn(last)) rows.push(one);
    else rows[rows.length - 1] = { ...last, count: (last.count ?? 1) + 1 };
  }
  return rows;
}

interface Written {
  readonly conversation_id: string;
  readonly sender: string;
  readonly is_from_me: boolean;
  readonly details?: { readonly kind: string } | undefined;
  readonly names?: Names | undefined;
}

const namesOf = (data: Pick<Written, 'conversation_id' | 'names'>, namesIn: NamesIn): Names | undefined =>
  data.names ?? namesIn(data.conversation_id, macOf(data));

const uncapital = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** Returns the id of the event's conversation; undefined if it has none. */
export const conversationIdOf = ({ data }: LiveEvent): string | undefined =>
  'conversation_id' in data && data.conversation_id !== '' ? data.conversation_id : undefined;

export function conversationName(event: LiveEvent, nameOf: (id: string, mac?: string) => string | undefined): string {
  const id = conversationIdOf(event);
  if (id === undefined) return '';
  return nameOf(id, macOf(event.data)) ?? personOf(addressIn(id), 'names' in event.data ? event.data.names : {});
}

import { basename } from 'node:path';
import type { Event } from '../../domain/event.ts';
import type { Message } from '../../domain/message.ts';
import type { Names } from '../../domain/names.ts';
import type { Reaction } from '../../domain/reaction.ts';
import { oneLine } from './text.ts';
import { shownTime } from './time.ts';

/** An event as one line: when, which way, who, what. */
export function eventLine(event: Event, nowMs: number): string {
  const { data } = event;
  const arrow = data.is_from_me ? '→' : '←';
  const what = 'body' in data ? messageText(data) : reactionText(event.type, data);
  return `${shownTime(data.timestamp, nowMs)} ${arrow} ${whoIn(data)}  ${what}`;
}

/** What a message says, on one line, and what is attached to it. */
export function messageText({ body, attachments, status }: Message): string {
  const files = attachments.map((path) => `[${oneLine(basename(path))}]`);
  const failed = status === 'failed' ? ['(failed)'] : [];
  return [oneLine(body), ...files, ...failed].filter((part) => part !== '').join(' ');
}

/** Who wrote it, or to whom; and in which group. */
export function whoIn({ sender, conversation_id: id, is_from_me: isOwn, names = {} }: Message | Reaction): string {
  const [, style = '', counterpart = id] = id.split(/;([+-]);/);
  if (isOwn) return oneLine(withName(counterpart, names)) || '?';
  const who = withName(sender || (style === '+' ? '' : counterpart), names);
  return oneLine(style === '+' ? `${who} in ${counterpart}` : who) || '?';
}

/** The address stays visible: people may have the same name. */
export function withName(address: string, names: Names): string {
  // Not by the prototype: an address can be any text.
  const name = Object.hasOwn(names, address) ? names[address] : undefined;
  return name === undefined ? address : `${name} (${address})`;
}

function reactionText(type: Event['type'], reaction: Reaction): string {
  const name = oneLine(reaction.emoji ?? reaction.reaction_type.replace('_', ' '));
  const target = reaction.message_id === '' ? 'a message' : `message ${reaction.message_id}`;
  return type === 'reaction.removed' ? `took ${name} back from ${target}` : `reacted with ${name} to ${target}`;
}

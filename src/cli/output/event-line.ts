import { basename } from 'node:path';
import type { Event } from '../../domain/event.ts';
import type { Message } from '../../domain/message.ts';
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
export function whoIn({ sender, conversation_id: id, is_from_me: isOwn }: Message | Reaction): string {
  const [, style = '', counterpart = id] = id.split(/;([+-]);/);
  if (isOwn) return oneLine(counterpart) || '?';
  return oneLine(style === '+' ? `${sender} in ${counterpart}` : sender || counterpart) || '?';
}

function reactionText(type: Event['type'], reaction: Reaction): string {
  const name = oneLine(reaction.emoji ?? reaction.reaction_type.replace('_', ' '));
  const target = reaction.message_id === '' ? 'a message' : `message ${reaction.message_id}`;
  return type === 'reaction.removed' ? `took ${name} back from ${target}` : `reacted with ${name} to ${target}`;
}

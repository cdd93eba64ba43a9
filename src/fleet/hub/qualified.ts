import type { Conversation } from '../../domain/conversation.ts';
import type { Event } from '../../domain/event.ts';
import { qualify } from '../../domain/fleet.ts';
import type { Message } from '../../domain/message.ts';
import type { Reaction } from '../../domain/reaction.ts';

/** An id of a Mac as clients of the hub see it (decision N1); "" stays what it is. */
function idOf(mac: string, id: string): string {
  return id === '' ? '' : qualify(mac, id);
}

export function qualifiedMessage(mac: string, message: Message): Message {
  const { details, ...members } = message;
  const { reply_to, part_of } = details ?? {};
  return {
    ...members,
    id: idOf(mac, message.id),
    conversation_id: idOf(mac, message.conversation_id),
    mac,
    ...(details && {
      details: {
        ...details,
        reply_to: reply_to ? { ...reply_to, id: idOf(mac, reply_to.id) } : null,
        ...(part_of && { part_of: { ...part_of, id: idOf(mac, part_of.id) } }),
        reactions: details.reactions.map((reaction) => qualifiedReaction(mac, reaction)),
      },
    }),
  };
}

function qualifiedReaction(mac: string, reaction: Reaction): Reaction {
  return {
    ...reaction,
    id: idOf(mac, reaction.id),
    conversation_id: idOf(mac, reaction.conversation_id),
    message_id: idOf(mac, reaction.message_id),
    mac,
  };
}

export function qualifiedConversation(mac: string, conversation: Conversation): Conversation {
  const { details } = conversation;
  const id = idOf(mac, conversation.id);
  if (details === undefined) return { ...conversation, id };
  const last = details.last_message;
  return { ...conversation, id, details: { ...details, last_message: last && { ...last, id: idOf(mac, last.id) } } };
}

export function qualifiedEvent(mac: string, event: Event): Event {
  return 'associated_message_type' in event.data
    ? ({ type: event.type, data: qualifiedReaction(mac, event.data) } as Event)
    : ({ type: event.type, data: qualifiedMessage(mac, event.data) } as Event);
}

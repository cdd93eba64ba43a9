import type { Conversation } from '../../../core/model/conversation.ts';
import type { ChangeEvent, Event } from '../../../core/model/event.ts';
import { idOfGuid, type MacName, qualify } from '../../../core/model/fleet.ts';
import type { Message } from '../../../core/model/message.ts';
import type { Reaction } from '../../../core/model/reaction.ts';

/** Returns a row's id for clients of the hub (decisions N1, N6). Returns "" if `id` is empty. */
function idOf({ mac, member, isPair }: MacName, id: string, guid = ''): string {
  if (id === '') return '';
  // Without a guid, only this Mac can find the row, so the id names the Mac instead of the pair.
  return isPair && guid !== '' ? qualify(member, idOfGuid(guid)) : qualify(mac, id);
}

function conversationIdOf({ member }: MacName, id: string): string {
  return id === '' ? '' : qualify(member, id);
}

export function qualifiedMessage(name: MacName, message: Message): Message {
  const { details, ...members } = message;
  const { reply_to, part_of, twin_of } = details ?? {};
  return {
    ...members,
    id: idOf(name, message.id, message.guid),
    conversation_id: conversationIdOf(name, message.conversation_id),
    mac: name.member,
    ...(details && {
      details: {
        ...details,
        reply_to: reply_to ? { ...reply_to, id: idOf(name, reply_to.id, reply_to.guid) } : null,
        ...(part_of && { part_of: { ...part_of, id: idOf(name, part_of.id, part_of.guid) } }),
        ...(twin_of && { twin_of: { ...twin_of, id: idOf(name, twin_of.id, twin_of.guid) } }),
        reactions: details.reactions.map((reaction) => qualifiedReaction(name, reaction)),
      },
    }),
  };
}

function qualifiedReaction(name: MacName, reaction: Reaction): Reaction {
  return {
    ...reaction,
    id: idOf(name, reaction.id, reaction.guid),
    conversation_id: conversationIdOf(name, reaction.conversation_id),
    message_id: idOf(name, reaction.message_id, reaction.message_guid),
    mac: name.member,
  };
}

export function qualifiedConversation(name: MacName, conversation: Conversation): Conversation {
  const { details } = conversation;
  const id = conversationIdOf(name, conversation.id);
  if (details === undefined) return { ...conversation, id };
  const last = details.last_message;
  return { ...conversation, id, details: { ...details, last_message: last && { ...last, id: idOf(name, last.id) } } };
}

export function qualifiedEvent(name: MacName, event: Event | ChangeEvent): Event | ChangeEvent {
  if (event.type === 'message.updated') return { ...event, data: qualifiedMessage(name, event.data) };
  if (event.type === 'message.removed') {
    const { id, guid, conversation_id: conversation } = event.data;
    const data = { id: idOf(name, id, guid), guid, conversation_id: conversationIdOf(name, conversation) };
    return { type: event.type, data: { ...data, mac: name.member } };
  }
  if (event.type === 'messages.changed') {
    const { first_id: first, last_id: last, count } = event.data;
    return {
      type: event.type,
      data: { first_id: idOf(name, first), last_id: idOf(name, last), count, mac: name.member },
    };
  }
  return 'associated_message_type' in event.data
    ? ({ type: event.type, data: qualifiedReaction(name, event.data) } as Event)
    : ({ type: event.type, data: qualifiedMessage(name, event.data) } as Event);
}

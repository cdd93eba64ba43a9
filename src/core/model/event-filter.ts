import { chatIdentity, groupId, normalAddress } from './address.ts';
import type { LogEntry } from './event.ts';
import { type Reading, wantedBy } from './narrowing.ts';
import { type StoredWebhook, type WebhookEventType, wantsChanges } from './webhook.ts';

/**
 * Returns a function that tests whether a webhook receives an event. The event must have one of the webhook's types and
 * match the webhook's filter (decision P4). `key` returns the limited key to which the webhook belongs. A condition on
 * a member that the event lacks is not applied: a removed message has no sender, and a range of changed messages has no
 * conversation.
 */
export function eventFilter(
  webhook: Pick<StoredWebhook, 'events' | 'filter'>,
  key?: () => Reading,
): (entry: LogEntry) => boolean {
  const types = new Set<WebhookEventType>(webhook.events);
  // A webhook that asks for `message.updated` or `message.removed` also receives `messages.changed`.
  if (wantsChanges(webhook)) types.add('messages.changed');
  const { conversation_ids: ids, senders: addresses, is_from_me: isOwn } = webhook.filter ?? {};
  const conversations = ids && new Set(ids.map(conversationIdentity));
  const senders = addresses && new Set(addresses.map(normalAddress));
  const isWanted = wantedBy(webhook.filter ?? {}, true, key);
  return (entry) => {
    if (!types.has(entry.event.type) || isWanted?.(entry) === false) return false;
    const { data } = entry.event;
    const conversation = 'conversation_id' in data && data.conversation_id !== '' ? data.conversation_id : undefined;
    if (conversation !== undefined && conversations !== undefined) {
      const names = [conversation, ...(entry.marks?.otherIds ?? [])];
      if (!names.some((id) => conversations.has(conversationIdentity(id)))) return false;
    }
    if (!('sender' in data)) return true;
    return senders?.has(normalAddress(data.sender)) !== false && (isOwn ?? data.is_from_me) === data.is_from_me;
  };
}

/**
 * Returns a key that is the same for all ids of a conversation, whichever service they name, and for the address or the
 * group's identifier alone.
 */
export function conversationIdentity(text: string): string {
  const { style, identifier } = chatIdentity(groupId(text) ?? text) ?? { style: '-', identifier: text };
  return `${style};${normalAddress(identifier)}`;
}

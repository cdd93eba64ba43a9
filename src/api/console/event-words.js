// An event in one line.

import { isNotice } from './content.js';
import { addressIn, counted, personOf } from './words.js';

export const GROUPS = /** @type {const} */ ([
  ['received', 'Received'],
  ['sent', 'Sent'],
  ['reactions', 'Reactions'],
  ['changes', 'Changes'],
  ['removed', 'Removed'],
]);

const GROUP_OF = new Map([
  ['message.received', 'received'],
  ['message.sent', 'sent'],
  ['reaction.added', 'reactions'],
  ['reaction.removed', 'reactions'],
  ['message.updated', 'changes'],
  ['messages.changed', 'changes'],
  ['message.removed', 'removed'],
]);

/** @param {string} type */
export const groupOf = (type) => GROUP_OF.get(type) ?? 'changes';

/** @param {{ body: string, attachments: readonly string[], details?: { sentence?: string } }} message */
function messageText({ body, attachments, details }) {
  // File names say more than their number does.
  const says = body !== '' && attachments.length > 0 ? body : (details?.sentence ?? body);
  return [says, ...attachments.map((path) => `[${path.split('/').at(-1)}]`)].filter((part) => part !== '').join(' ');
}

/**
 * Describes a reaction in the words of `postern tail`.
 * @param {string} type
 * @param {any} reaction
 */
function reactionText(type, { emoji, reaction_type: name, message_id: id, details }) {
  if (details?.sentence !== undefined) return details.sentence;
  const reaction = emoji ?? name.replace('_', ' ');
  const target = id === '' ? 'a message' : `message ${id}`;
  return type === 'reaction.removed' ? `took ${reaction} back from ${target}` : `reacted with ${reaction} to ${target}`;
}

/** @param {any} event */
export function textOfEvent({ type, data, changes = [] }) {
  if (type.startsWith('reaction')) return reactionText(type, data);
  if (type === 'message.removed') return `message ${data.id} removed`;
  if (type === 'messages.changed') {
    return `${counted(data.count, 'message')} changed, between ${data.first_id} and ${data.last_id}`;
  }
  if (type !== 'message.updated') return messageText(data);
  const what = changes.map((/** @type {string} */ name) => (name === 'attachment' ? 'attachment changed' : name));
  const hasText = ['edited', 'attachment', 'restored'].some((name) => changes.includes(name));
  return `message ${data.id} ${what.join(', ')}${hasText ? `: ${messageText(data)}` : ''}`;
}

/**
 * Returns the person an event is about; empty if the event's text names the person.
 * @param {any} data
 */
export function whoIn(data) {
  if (isNotice(data)) return '';
  if (data.is_from_me) return 'You';
  return data.sender === undefined ? '' : personOf(data.sender, data.names);
}

/**
 * @param {any} data
 * @param {(id: string) => string | undefined} nameOf
 */
export const conversationIn = ({ conversation_id: id = '', names }, nameOf) =>
  id === '' ? '' : (nameOf(id) ?? personOf(addressIn(id), names));

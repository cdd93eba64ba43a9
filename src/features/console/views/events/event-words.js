// An event in one line.

import { addressIn, counted, personOf } from '../../service/words.ts';
import { isNotice, symbolOf } from '../messages/content.js';

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
  // For a message with text and attachments, `details.sentence` is the text and the number of attachments. Uses only
  // the text, because the file names follow.
  const says = body !== '' && attachments.length > 0 ? body : (details?.sentence ?? body);
  return [says, ...attachments.map((path) => `[${path.split('/').at(-1)}]`)].filter((part) => part !== '').join(' ');
}

/** @param {any} message */
const quoted = (message) => (message === undefined ? 'a message' : `“${messageText(message)}”`);

/**
 * Returns an event as a sentence in two parts: the name of the person who acted, and what that person did. The name is
 * empty if the second part is a whole sentence.
 * @param {any} event
 * @param {(id: string) => any} messageOf finds the message of an earlier event
 * @returns {readonly [who: string, text: string]}
 */
export function sentenceOf({ type, data, changes = [] }, messageOf) {
  const { sender, is_from_me: isOwn, names, details, conversation_id: conversation = '' } = data;
  const who = isNotice(data) || sender === undefined ? '' : isOwn ? 'You' : personOf(sender, names);
  if (type.startsWith('reaction')) {
    if (details?.sentence !== undefined) return [who, uncapital(details.sentence)];
    const isTaken = type === 'reaction.removed';
    return [who, `${isTaken ? 'took back ' : ''}${symbolOf(data)} to ${quoted(messageOf(data.message_id))}`];
  }
  if (type === 'message.removed') return ['', `${quoted(messageOf(data.id))} was deleted`];
  if (type === 'messages.changed')
    return ['', `${counted(data.count, 'message')} changed, between ${data.first_id} and ${data.last_id}`];
  const isGone = details?.retracted_at && data.body === '';
  if (isGone) return [who, uncapital(messageText(data))];
  if (type !== 'message.updated') return [who, messageText(data)];
  const what = changes.join(', ');
  if (what === 'delivered') return ['', `${quoted(data)} was delivered`];
  if (what !== 'read') return [who, `${what}: ${quoted(data)}`];
  if (!isOwn) return ['You', `read ${quoted(data)}`];
  // Messages does not record who in a group has read a message. Only in a direct conversation is the reader known.
  return conversation.includes(';-;')
    ? [personOf(addressIn(conversation), names), `read ${quoted(data)}`]
    : ['', `${quoted(data)} was read`];
}

/** @param {string} text */
const uncapital = (text) => text.charAt(0).toLowerCase() + text.slice(1);

/**
 * @param {any} data
 * @param {(id: string) => string | undefined} nameOf
 */
export const conversationIn = ({ conversation_id: id = '', names }, nameOf) =>
  id === '' ? '' : (nameOf(id) ?? personOf(addressIn(id), names));

// A limited key's rights in words.

import { nameIn } from '../../service/directory.ts';
import { addressIn, counted, listed, personOf } from '../../service/words.ts';

/** @import { KeyRecord } from '../../../../core/model/key.ts' */

/** @type {Readonly<Record<string, string>>} */
export const APPROVAL = {
  always: 'Every send waits for you',
  new: 'First messages wait for you',
  never: 'Sends at once',
};

/** Returns an icon and a word for a key, guessed from its scopes. @param {readonly string[]} scopes */
export function kindOf(scopes) {
  const has = (/** @type {string} */ scope) => scopes.includes(scope);
  if (has('read') && has('send')) return /** @type {const} */ (['bot', 'Assistant']);
  if (has('send')) return /** @type {const} */ (['bell', 'Notifier']);
  if (has('read') || has('events')) return /** @type {const} */ (['eye', 'Reader']);
  if (has('approve')) return /** @type {const} */ (['hand', 'Approver']);
  return /** @type {const} */ (['key', 'Key']);
}

/** @type {Readonly<Record<string, string>>} */
const SCOPES = { read: 'read', events: 'events', send: 'send', webhooks: 'webhooks', approve: 'approve' };
/** @param {readonly string[]} scopes */
export const scopesIn = (scopes) => scopes.map((scope) => SCOPES[scope] ?? scope).join(', ');

/**
 * Returns the name of a person or group in a key's `read` or `send` list; the address if no name is known.
 * @param {string} id
 * @param {Readonly<Record<string, string>>} [names]
 */
export const nameOfEntry = (id, names = {}) =>
  nameIn(id) ?? nameIn(`any;-;${id}`) ?? personOf(id.includes(';') ? addressIn(id) : id, names);

/** @param {People} list */
export const peopleIn = (list) =>
  list === '*' ? 'everybody' : list === '' || list.length === 0 ? 'nobody' : listed(list.map((id) => nameOfEntry(id)));

/**
 * @typedef {'*' | '' | readonly string[]} People `''` is nobody; an empty list is not decided yet
 * @typedef {{ readonly scopes: readonly string[], readonly read: People, readonly send: People,
 *   readonly approval: string, readonly caps: { readonly per_day: number, readonly per_minute: number, readonly new_contacts_per_day: number } | null,
 *   readonly dry_run: boolean }} Rights
 * @typedef {{ readonly kind: 'yes' | 'held' | 'later' | 'no', readonly text: string }} Right
 */

/**
 * Returns the rights of a key in words, and the rights that it lacks.
 * @param {Rights} rights
 * @returns {readonly Right[]}
 */
export function rightsOf({ scopes, read, send, approval, caps, dry_run: isDry }) {
  /**
   * @param {string} scope
   * @param {People} list
   * @param {string} lacking
   * @param {(people: string) => string} text
   * @returns {Right}
   */
  const right = (scope, list, lacking, text, kind = /** @type {'yes' | 'held'} */ ('yes')) =>
    !scopes.includes(scope) || list === ''
      ? { kind: 'no', text: lacking }
      : list.length === 0
        ? { kind: 'later', text: text('people you choose') }
        : { kind, text: text(peopleIn(list)) };
  const limit = caps === null ? '' : `, ${caps.per_day} a day`;
  const when = isDry
    ? ', only as a trial: nothing is sent'
    : { always: ', after you approve', new: ', first messages after you approve', never: ', at once' }[approval];
  const isOne = read === '*' || read.length === 1;
  return [
    right('read', read, 'Read messages', (people) => `Read messages of ${people}`),
    right(
      'events',
      read,
      'Learn when somebody writes',
      (people) => `Learn when ${people} ${isOne ? 'writes' : 'write'}`,
    ),
    right(
      'send',
      send,
      'Send messages',
      (people) => `Write to ${people}${when}${limit}`,
      approval !== 'never' && !isDry ? 'held' : 'yes',
    ),
    ...(scopes.includes('webhooks') ? [right('webhooks', '*', '', () => 'Register webhooks on this machine')] : []),
    ...(scopes.includes('approve') ? [right('approve', '*', '', () => 'Decide on sends that wait')] : []),
    ...(read === '*' && scopes.includes('read') ? [] : [no('See other conversations or people')]),
    no('Send files from this Mac by path'),
    no('Change keys or settings'),
  ];
}

/** @param {string} text @returns {Right} */
const no = (text) => ({ kind: 'no', text });

/** @param {KeyRecord} key */
export function expiryOf({ expires_at: at }) {
  if (at === null) return { text: 'never', isSoon: false };
  const days = (Date.parse(at) - Date.now()) / 86_400_000;
  if (days <= 0) return { text: 'expired', isSoon: true };
  return {
    text:
      days < 1 ? `in ${counted(Math.max(1, Math.floor(days * 24)), 'hour')}` : `in ${counted(Math.floor(days), 'day')}`,
    isSoon: days < 14,
  };
}

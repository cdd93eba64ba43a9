// A limited key's rights in words.

import type { ApprovalMode, Caps, KeyRecord } from '../../../../client/key-types.ts';
import { DAY_MS } from '../../../../core/model/durations.ts';
import { counted } from '../../../../core/model/figures.ts';
import type { Scope } from '../../../../core/model/key.ts';
import { nameIn } from '../../service/directory.ts';
import { addressIn, listed, personOf } from '../../service/words.ts';

export const APPROVAL: Readonly<Record<ApprovalMode, string>> = {
  always: 'Every send waits for you',
  new: 'First messages wait for you',
  never: 'Sends at once',
};

/** `''` is nobody; an empty list is not decided yet. */
export type People = '*' | '' | readonly string[];

export interface Rights {
  readonly scopes: readonly Scope[];
  readonly read: People;
  readonly send: People;
  readonly approval: ApprovalMode;
  readonly caps: Caps | null;
  readonly dry_run: boolean;
}

/** `held`: after approval; `later`: once its people are chosen. */
export interface Right {
  readonly kind: 'yes' | 'held' | 'later' | 'no';
  readonly text: string;
}

/** Reports whether a key with these scopes learns from conversations, so that it has a list of those it may read. */
export const readsWith = (scopes: readonly Scope[]): boolean => scopes.includes('read') || scopes.includes('events');

/** Returns an icon and a word for a key, guessed from its scopes. */
export function kindOf(scopes: readonly Scope[]): readonly [icon: string, word: string] {
  if (scopes.includes('read') && scopes.includes('send')) return ['bot', 'Assistant'];
  if (scopes.includes('send')) return ['bell', 'Notifier'];
  if (readsWith(scopes)) return ['eye', 'Reader'];
  if (scopes.includes('approve')) return ['hand', 'Approver'];
  return ['key', 'Key'];
}

/** Returns the name of a person or group in a key's `read` or `send` list; the address if no name is known. */
export const nameOfEntry = (id: string): string =>
  nameIn(id) ?? nameIn(`any;-;${id}`) ?? personOf(id.includes(';') ? addressIn(id) : id);

export const peopleOnList = (list: People): string =>
  list === '*' ? 'everybody' : list === '' || list.length === 0 ? 'nobody' : listed(list.map(nameOfEntry));

/** Returns the rights of a key in words, and the rights that it lacks. */
export function rightsOf({ scopes, read, send, approval, caps, dry_run: isDry }: Rights): readonly Right[] {
  const limit = caps === null ? '' : `, ${caps.per_day} a day`;
  const when = isDry
    ? ', only as a trial: nothing is sent'
    : { always: ', after you approve', new: ', first messages after you approve', never: ', at once' }[approval];
  const isOne = read === '*' || read.length === 1;
  const lists = { read: scopes.includes('read') ? read : '', events: scopes.includes('events') ? read : '' };
  return [
    right(lists.read, 'Read messages', (people) => `Read messages of ${people}`),
    right(lists.events, 'Learn when somebody writes', (people) => `Learn when ${people} ${isOne ? 'writes' : 'write'}`),
    right(
      scopes.includes('send') ? send : '',
      'Send messages',
      (people) => `Write to ${people}${when}${limit}`,
      approval !== 'never' && !isDry ? 'held' : 'yes',
    ),
    ...(scopes.includes('webhooks') ? [yes('Register webhooks on this machine')] : []),
    ...(scopes.includes('approve') ? [yes('Decide on sends that wait')] : []),
    ...(lists.read === '*' ? [] : [no('See other conversations or people')]),
    no('Send files from this Mac by path'),
    no('Change keys or settings'),
  ];
}

const yes = (text: string): Right => ({ kind: 'yes', text });
const no = (text: string): Right => ({ kind: 'no', text });

/** Returns a right towards people. `lacking` are the words if there is nobody. */
function right(list: People, lacking: string, text: (people: string) => string, kind: 'yes' | 'held' = 'yes'): Right {
  if (list === '') return no(lacking);
  if (list.length === 0) return { kind: 'later', text: text('people you choose') };
  return { kind, text: text(peopleOnList(list)) };
}

export function expiryOf({ expires_at: at }: KeyRecord): { readonly text: string; readonly isSoon: boolean } {
  if (at === null) return { text: 'never', isSoon: false };
  const days = (Date.parse(at) - Date.now()) / DAY_MS;
  if (days <= 0) return { text: 'expired', isSoon: true };
  return {
    text: days < 1 ? `in ${counted(Math.ceil(days * 24), 'hour')}` : `in ${counted(Math.ceil(days), 'day')}`,
    isSoon: days < 14,
  };
}

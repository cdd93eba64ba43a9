import type { KeyDetails } from '../../client/key-types.ts';
import { groupId } from '../../core/model/address.ts';
import { type Destination, resolveRecipient } from '../../core/model/destination.ts';
import { isChatDbAway } from '../../core/model/errors.ts';
import type { SendRight } from '../../core/model/key.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { assertAnswerable, isAnswerable, isName } from '../../core/model/recipient.ts';
import type { LimitedKey } from './limited-key.ts';
import { areSameMembers, maySend } from './policy.ts';

/**
 * Returns the destination of a recipient that the key may send to. Throws `recipient_not_allowed` for any other
 * recipient, or `recipient_is_name` for a name. The error does not reveal whether that recipient exists,
 * except to a key that may send to everyone: for an unknown group, it gets `unknown_conversation`.
 */
export function allowedDestination(directory: ChatDirectory, key: LimitedKey, recipient: string): Destination {
  const destination = resolveRecipient(directory, recipient);
  if (key.stored.send === '*') assertGroupIsKnown(directory, recipient);
  if (destination === undefined || !maySend(key.stored.send, destination)) {
    throw problem(isName(recipient) ? 'recipient_is_name' : 'recipient_not_allowed');
  }
  assertAnswerable(recipient);
  return destination;
}

/** Throws `unknown_conversation` for the id of a group that chat.db does not have. */
export function assertGroupIsKnown(directory: ChatDirectory, recipient: string): void {
  if (groupId(recipient) !== undefined && directory.meant(recipient).length === 0) {
    throw problem('unknown_conversation');
  }
}

/**
 * Returns whether the key may send to the recipient, and whether such a send needs the owner's approval. Records
 * nothing.
 */
export function sendRight(directory: ChatDirectory, { stored: key }: LimitedKey, recipient: string): SendRight {
  if (!isAnswerable(recipient)) return 'no';
  const destination = resolveRecipient(directory, recipient);
  if (!key.scopes.includes('send') || destination === undefined || !maySend(key.send, destination)) return 'no';
  return isHeld(key, isNewContact(directory, destination)) ? 'held' : 'yes';
}

/** Reports whether the owner has never sent a message to the destination. */
export function isNewContact(directory: ChatDirectory, { chats }: Destination): boolean {
  return !chats.some((guid) => directory.hasOwnMessage(guid));
}

/**
 * Reports whether the owner has never sent a message to a recipient. Returns undefined if it is uncertain who would
 * read a message to that recipient, or while chat.db is unreadable.
 */
export function isNewRecipient(directory: ChatDirectory, recipient: string): boolean | undefined {
  try {
    const destination = resolveRecipient(directory, recipient);
    return destination && isNewContact(directory, destination);
  } catch (error) {
    if (isChatDbAway(error)) return undefined;
    throw error;
  }
}

/** Reports whether a send needs the owner's approval. */
export function isHeld({ approval }: KeyDetails, isNew: boolean): boolean {
  return approval === 'always' || (approval === 'new' && isNew);
}

/**
 * Checks again, immediately before a send, that the key may send to `to`. Throws `recipient_not_allowed` if the key no
 * longer may. With `members`, also throws if the people who would read the message are no longer the same.
 */
export function assertStillAllowed(
  { directory, clock }: { readonly directory: ChatDirectory; readonly clock: Clock },
  key: LimitedKey | undefined,
  to: string,
  members?: readonly string[],
): void {
  if (key === undefined || !key.isAlive(clock.now())) throw problem('recipient_not_allowed');
  const destination = allowedDestination(directory, key, to);
  if (members !== undefined && !areSameMembers(members, destination.members)) throw problem('recipient_not_allowed');
}

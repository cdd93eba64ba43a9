import { rightsAddress } from '../domain/address.ts';
import type { Key, SendRight } from '../domain/key.ts';
import type { ChatDirectory } from '../domain/ports/access.ts';
import type { Clock } from '../domain/ports/host.ts';
import { problem } from '../domain/problems.ts';
import type { LimitedKey } from './limited-key.ts';
import { areSameMembers, type Destination, destinationOf, maySend } from './policy.ts';

/** Where a recipient leads now. undefined when nobody can say for certain who would read it. */
export function resolve(directory: ChatDirectory, recipient: string): Destination | undefined {
  const typed = rightsAddress(recipient) ?? recipient;
  return destinationOf(typed, directory.meant(typed));
}

/** The destination, or `recipient_not_allowed` in the same words whether it is there or not. */
export function allowedDestination(directory: ChatDirectory, key: LimitedKey, recipient: string): Destination {
  const destination = resolve(directory, recipient);
  if (destination === undefined || !maySend(key.stored.send, destination)) throw problem('recipient_not_allowed');
  return destination;
}

/** Whether a key may write there. Nothing is noted. */
export function sendRight(directory: ChatDirectory, { stored: key }: LimitedKey, recipient: string): SendRight {
  const destination = resolve(directory, recipient);
  if (!key.scopes.includes('send') || destination === undefined || !maySend(key.send, destination)) return 'no';
  return isHeld(key, isNewContact(directory, destination)) ? 'held' : 'yes';
}

/** True where the owner never wrote anything. */
export function isNewContact(directory: ChatDirectory, { chats }: Destination): boolean {
  return !chats.some((guid) => directory.hasOwnMessage(guid));
}

/** Whether a send waits for the owner's decision. */
export function isHeld({ approval }: Key, isNew: boolean): boolean {
  return approval === 'always' || (approval === 'new' && isNew);
}

/** The same once more in the queue's turn. With `members` it also demands that the readers are still those. */
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

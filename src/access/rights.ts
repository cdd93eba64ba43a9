import type { ChatDirectory } from '../domain/ports/access.ts';
import type { Clock } from '../domain/ports/host.ts';
import { problem } from '../domain/problems.ts';
import { canonicalAddress } from './address.ts';
import type { LimitedKey } from './limited-key.ts';
import { areSameMembers, type Destination, destinationOf, maySend } from './policy.ts';

/** Where a recipient leads now. undefined when nobody can say for certain who would read it. */
export function resolve(directory: ChatDirectory, recipient: string): Destination | undefined {
  const typed = canonicalAddress(recipient) ?? recipient;
  return destinationOf(typed, directory.meant(typed));
}

/** The destination, or `recipient_not_allowed` in the same words whether it is there or not. */
export function allowedDestination(directory: ChatDirectory, key: LimitedKey, recipient: string): Destination {
  const destination = resolve(directory, recipient);
  if (destination === undefined || !maySend(key.stored.send, destination)) throw problem('recipient_not_allowed');
  return destination;
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

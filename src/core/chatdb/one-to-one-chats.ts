import { chatIdentity } from '../model/address.ts';
import type { ReaderThread } from '../runtime/reader-thread.ts';
import type { Connection } from './connection.ts';
import { namedChatsIn } from './named-chats.ts';
import type { Snapshot } from './snapshot.ts';

/** A one-to-one conversation. */
export interface OneToOneChat {
  readonly id: string;
  /** The other person's address as stored. Contains several addresses only if chat.db is inconsistent. */
  readonly members: readonly string[];
}

export interface OneToOneChats {
  /** Returns a value that changes with each commit to chat.db. */
  version(): unknown;
  list(): Promise<readonly OneToOneChat[]>;
}

/** Reads every one-to-one chat in one pass. */
export function oneToOneChatsIn(snapshot: Snapshot): readonly OneToOneChat[] {
  return namedChatsIn(snapshot, 'oneToOne')
    .filter(({ id }) => id !== '')
    .map(({ id, participants }) => ({ id, members: participants.length > 0 ? participants : memberOf(id) }));
}

/** Returns the address in the id of a chat; empty if the id contains none. */
function memberOf(id: string): readonly string[] {
  const identity = chatIdentity(id);
  return identity === undefined ? [] : [identity.identifier];
}

interface Lists {
  oneToOneChats(): readonly OneToOneChat[];
}

/** Lists the one-to-one chats. Reads them in the reader thread if there is one, because there may be many. */
export function oneToOneChats(
  connection: Connection,
  thread: ReaderThread<{ readonly lists: Lists }> | undefined,
): OneToOneChats {
  return {
    version: () => connection.snapshot(),
    list: async () => thread?.call('lists', 'oneToOneChats') ?? connection.read(oneToOneChatsIn),
  };
}

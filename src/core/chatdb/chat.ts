import { chatIdentity, normalAddress } from '../model/address.ts';
import type { ConversationFilter } from '../model/details.ts';

/** A chat, from its own row and its participants. Groups that are one conversation are one chat (decision AB7). */
export interface Chat {
  /** Row id of the oldest of the joined groups. */
  readonly rowId: number;
  /** The row ids of all joined groups, oldest first; only `rowId` for every other chat. */
  readonly rowIds: readonly number[];
  readonly guid: string;
  /** The guids of the joined groups other than `guid`. */
  readonly otherIds: readonly string[];
  /** The guid that a send uses: that of the newest joined group. */
  readonly sendId: string;
  /** Null for one-to-one conversations and unnamed groups (decision B12). */
  readonly displayName: string | null;
  readonly isGroup: boolean;
  /** The owner's address that was last used in this chat; "" if unknown. */
  readonly ownAddress: string;
  /** The service in the chat's row; null if the row names no service, or the service `any`. */
  readonly service: string | null;
  /** How Messages files the chat; undefined if chat.db does not say. */
  readonly filter: ConversationFilter | undefined;
  /** True if Messages shows the chat in none of its lists (decision AB4). */
  readonly isFiltered: boolean;
  /** Returns the participants' addresses without duplicates, in stored order (decision B12). */
  participants(): readonly string[];
  /**
   * Returns the other person's address in a one-to-one chat; "" for a group, or if it is uncertain who that is.
   */
  counterpart(): string;
}

/** Makes joined groups one chat: its id is that of the oldest, its name and members are those of the newest. */
export function joinedChat(parts: readonly Chat[], newest: Chat | undefined): Chat | undefined {
  const [oldest] = parts;
  if (oldest === undefined || newest === undefined) return oldest;
  const named = [newest, ...parts.toReversed()].find(({ displayName }) => displayName !== null);
  const filled = [newest, ...parts.toReversed()].find((part) => part.participants().length > 0);
  return {
    ...newest,
    rowId: oldest.rowId,
    rowIds: parts.map(({ rowId }) => rowId),
    guid: oldest.guid,
    otherIds: parts.slice(1).map(({ guid }) => guid),
    sendId: newest.guid,
    displayName: named?.displayName ?? null,
    participants: () => (filled ?? newest).participants(),
  };
}

/** Returns the only member, else the address that the chat's guid names, unless it is none of the members. */
export function counterpartIn(guid: string, members: readonly string[]): string {
  const [only, ...more] = members;
  if (only !== undefined && more.length === 0) return only;
  const named = chatIdentity(guid)?.identifier ?? '';
  return members.length === 0 || members.some((one) => normalAddress(one) === normalAddress(named)) ? named : '';
}

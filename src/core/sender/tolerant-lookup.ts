import { errorCode, isChatDbAway } from '../model/errors.ts';
import type { Log } from '../model/ports/host-ports.ts';
import type { SendLookup } from '../model/ports/sending-ports.ts';

/**
 * Looks up in chat.db the facts that a send needs. If chat.db cannot be read, returns an empty list, false or undefined
 * instead of throwing, because sending works without chat.db.
 */
export function tolerantLookup(lookup: SendLookup, log: Log) {
  /** Logs a failed read. An error thrown here would turn a sent message into a failed send. */
  const report = (error: unknown): undefined => {
    if (!isChatDbAway(error)) log.warn('could not query chat.db for a send', { code: errorCode(error) });
    return undefined;
  };
  const ask = <Answer>(question: () => Answer): Answer | undefined => {
    try {
      return question();
    } catch (error) {
      return report(error);
    }
  };
  return {
    chats: (recipient: string) => ask(() => lookup.chats(recipient)) ?? [],
    highestRowId: () => ask(() => lookup.highestRowId()),
    ownRowsAbove: (rowId: number, sinceMs: number) => ask(() => lookup.ownRowsAbove(rowId, sinceMs)) ?? [],
    newestServiceTo: (address: string) => ask(() => lookup.newestServiceTo(address)),
    isNewChat: (rowId: number, afterRowId: number) => ask(() => lookup.isNewChat(rowId, afterRowId)) ?? false,
    message: (rowId: number) => ask(() => lookup.message(rowId)),
    isMirror: (...parameters: Parameters<SendLookup['isMirror']>) => ask(() => lookup.isMirror(...parameters)) ?? false,
    stagedFoldersInUse: (stagingFolder: string) => lookup.stagedFoldersInUse(stagingFolder).catch(report),
  };
}

export type TolerantLookup = ReturnType<typeof tolerantLookup>;

import { errorCode, isChatDbAway } from '../../domain/errors.ts';
import type { Message } from '../../domain/message.ts';
import type { Log } from '../../domain/ports/host.ts';
import type { KnownChat, OwnRow, SendLookup } from '../../domain/ports/sending.ts';

/**
 * A send's questions to chat.db, answered with undefined while it is unreadable: sending works without it (decision
 * C6).
 */
export class TolerantLookup {
  readonly #lookup: SendLookup;
  readonly #log: Log;

  constructor(lookup: SendLookup, log: Log) {
    this.#lookup = lookup;
    this.#log = log;
  }

  chats(recipient: string): readonly KnownChat[] {
    return this.#ask(() => this.#lookup.chats(recipient)) ?? [];
  }

  highestRowId(): number | undefined {
    return this.#ask(() => this.#lookup.highestRowId());
  }

  ownRowsAbove(rowId: number): readonly OwnRow[] {
    return this.#ask(() => this.#lookup.ownRowsAbove(rowId)) ?? [];
  }

  newestServiceTo(address: string): string | undefined {
    return this.#ask(() => this.#lookup.newestServiceTo(address));
  }

  isNewChat(rowId: number, afterRowId: number): boolean {
    return this.#ask(() => this.#lookup.isNewChat(rowId, afterRowId)) ?? false;
  }

  message(rowId: number): Message | undefined {
    return this.#ask(() => this.#lookup.message(rowId));
  }

  async stagedFoldersInUse(stagingFolder: string): Promise<ReadonlySet<string> | undefined> {
    try {
      return await this.#lookup.stagedFoldersInUse(stagingFolder);
    } catch (error) {
      return this.#report(error);
    }
  }

  #ask<Answer>(question: () => Answer): Answer | undefined {
    try {
      return question();
    } catch (error) {
      return this.#report(error);
    }
  }

  /** A failed read must never turn a sent message into a failed send. */
  #report(error: unknown): undefined {
    const isAway = isChatDbAway(error);
    if (!isAway) this.#log.warn('could not query chat.db for a send', { code: errorCode(error) });
    return undefined;
  }
}

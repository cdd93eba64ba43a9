import type { PendingRow } from '../model/event.ts';
import { rowOffset } from '../model/offset.ts';
import type { Change } from '../model/ports/changes-ports.ts';
import type { MessageLog } from '../model/ports/feed-ports.ts';

/** Messages joins a row to its chat within seconds, and each row is read again at every commit until then. */
const MAX_REMEMBERED = 32;

/** Remembers the messages that were published without a conversation, because Messages had not joined them to one. */
export class LateJoins {
  readonly #rowIds = new Set<number>();

  note(rows: readonly PendingRow[]): void {
    for (const { rowId, event } of rows) {
      if (event.data.conversation_id === '' && 'status' in event.data) this.#rowIds.add(rowId);
    }
    for (const rowId of [...this.#rowIds].slice(0, -MAX_REMEMBERED)) this.#rowIds.delete(rowId);
  }

  /** Forgets and returns the messages that have a conversation by now. */
  take(messages: Pick<MessageLog, 'entries'>): readonly Change[] {
    const changes: Change[] = [];
    for (const rowId of this.#rowIds) {
      const [row] = messages.entries(rowOffset(rowId - 1), rowOffset(rowId), 1);
      if (row?.event.data.conversation_id === '') continue;
      this.#rowIds.delete(rowId);
      if (row !== undefined) changes.push({ kind: 'updated', rowId, changes: ['conversation'] });
    }
    return changes;
  }

  clear(): void {
    this.#rowIds.clear();
  }
}

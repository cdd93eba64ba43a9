import type { LogEntry } from '../../../src/core/model/event.ts';
import { type ModelChat, messageOf } from './model-chat.ts';
import type { ModelService } from './model-service.ts';

/** A client's copy of the messages: read once, then kept up to date by events. */
export class Mirror {
  readonly #chat: ModelChat;
  #texts = new Map<number, string>();
  /** Ranges to read again once chat.db can be read. */
  #unread: (readonly [number, number])[] = [];
  /** True if the copy began before every row had been checked once. It reads everything again after that. */
  isEarly = false;

  constructor(chat: ModelChat) {
    this.#chat = chat;
  }

  /** Reads all published rows. Later rows are left to their events, because such a row can vanish without an event. */
  readAll({ feed }: ModelService): void {
    this.#texts = new Map();
    this.#readRange(0, feed.lastPublished({ changes: true }).rowId);
  }

  apply({ event }: LogEntry): void {
    switch (event.type) {
      case 'message.received':
      case 'message.sent':
      case 'message.updated':
        this.#texts.set(Number(event.data.id), JSON.stringify(event.data));
        break;
      case 'message.removed':
        this.#texts.delete(Number(event.data.id));
        break;
      case 'messages.changed':
        this.#unread.push([Number(event.data.first_id), Number(event.data.last_id)]);
        this.#readAgain();
        break;
      default:
    }
  }

  /** Reads the pending ranges as soon as that is possible. */
  settle(service: ModelService): void {
    this.#readAgain();
    if (!this.isEarly || this.#chat.isAway || service.detection.status().state !== 'on') return;
    this.isEarly = false;
    this.readAll(service);
  }

  #readAgain(): void {
    if (this.#chat.isAway) return;
    for (const [first, last] of this.#unread.splice(0)) this.#readRange(first, last);
  }

  /** Returns the first difference from chat.db. */
  difference(): string | undefined {
    const truth = new Map<number, string>();
    for (const row of this.#chat.rows.values()) {
      if (!row.isReaction) truth.set(row.rowId, JSON.stringify(messageOf(row)));
    }
    for (const rowId of new Set([...truth.keys(), ...this.#texts.keys()])) {
      if (truth.get(rowId) === this.#texts.get(rowId)) continue;
      return `row ${rowId} is ${truth.get(rowId)} in chat.db, and ${this.#texts.get(rowId)} to the reader`;
    }
    return undefined;
  }

  #readRange(first: number, last: number): void {
    for (const rowId of this.#texts.keys()) if (rowId >= first && rowId <= last) this.#texts.delete(rowId);
    for (const row of this.#chat.rows.values()) {
      if (row.rowId < first || row.rowId > last || row.isReaction) continue;
      this.#texts.set(row.rowId, JSON.stringify(messageOf(row)));
    }
  }
}

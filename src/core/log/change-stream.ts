import type { ChangeEvent, LogEntry, RowEntry } from '../model/event.ts';
import { isAfter, latest, type Offset, rowOffset } from '../model/offset.ts';
import type { ChangeLog, LoggedChange } from '../model/ports/changes-ports.ts';
import type { FeedPage, MessageLog } from '../model/ports/feed-ports.ts';
import { Channel } from './channel.ts';

/** Maximum number of changes read at once. For each change, its message is read again. */
const BATCH_CHANGES = 64;

export interface ChangeStreamParts {
  readonly log: ChangeLog & { state(): { readonly isOn: boolean } };
  readonly messages: MessageLog;
  /** Reports whether this service detects changes at all. Default: it does. */
  readonly isDetected?: () => boolean;
}

/**
 * The published rows and changes in one order, for readers that ask for changes. It has its own channel, so that other
 * readers receive no changes. The channel exists only while changes are detected.
 */
export class ChangeStream {
  readonly #log: ChangeStreamParts['log'];
  readonly #messages: MessageLog;
  readonly #isDetected: () => boolean;
  #channel: Channel | undefined;
  #generation = 0;

  constructor({ log, messages, isDetected = () => true }: ChangeStreamParts) {
    this.#isDetected = isDetected;
    this.#log = log;
    this.#messages = messages;
  }

  /** Undefined while change detection is off, and until chat.db was first read. */
  get channel(): Channel | undefined {
    return this.#channel;
  }

  /**
   * True if change detection is switched on in state.db. The `channel` is nevertheless undefined until chat.db was
   * first read.
   */
  get isOn(): boolean {
    return this.#isDetected() && this.#log.state().isOn;
  }

  /** Id of the newest row in this stream; 0 without a channel. Changes of later rows are not reported. */
  get lastRowId(): number {
    return this.#channel?.last.rowId ?? 0;
  }

  get readers(): number {
    return this.#channel?.members ?? 0;
  }

  get generation(): number {
    return this.#generation;
  }

  /**
   * Reports whether an offset belongs to this generation of the log. With `hasChanges`, every change after the offset
   * must also still be kept.
   */
  isKept({ generation, change }: Offset & { readonly generation: number }, hasChanges: boolean): boolean {
    if (generation !== this.#generation) return false;
    return !hasChanges || (change >= this.#log.floor() && change <= this.#log.newest());
  }

  /** Starts (again) after this row and the newest change. If detection is off, ends the stream instead. */
  restart(rowId: number): void {
    this.#generation = this.#log.generation();
    if (!this.isOn) {
      this.#channel = undefined;
      return;
    }
    this.#channel ??= new Channel();
    this.#channel.restart({ rowId, change: this.#log.newest() });
  }

  /** Publishes rows whose prints have been stored. */
  publishRows(rows: readonly RowEntry[]): void {
    const channel = this.#channel;
    if (channel === undefined || rows.length === 0) return;
    const { change } = channel.last;
    channel.publish(rows.map((row) => this.#rowEntry(row, change)));
  }

  /** Moves past rows without events. */
  skipTo(rowId: number): void {
    const channel = this.#channel;
    channel?.skipTo({ rowId, change: channel.last.change });
  }

  /** Publishes the next changes of the change log; returns false if there are none. */
  publishChanges(): boolean {
    const channel = this.#channel;
    if (channel === undefined) return false;
    const { last } = channel;
    const { entries, upTo } = this.#changesAfter(last, Number.MAX_SAFE_INTEGER, BATCH_CHANGES);
    if (!isAfter(upTo, last)) return false;
    channel.publish(entries);
    channel.skipTo(upTo);
    return true;
  }

  /**
   * Returns the entries after a position: from the channel if the channel was once at exactly this position, otherwise
   * from the stores. The stores first supply the changes of rows that the reader already has, then new rows in their
   * current state.
   */
  read(position: Offset, limit: number): FeedPage {
    const channel = this.#channel;
    if (channel === undefined) return { entries: [], upTo: position };
    const live = channel.afterEntry(position, limit);
    if (live !== undefined) return { entries: live, upTo: live.at(-1)?.offset ?? latest(position, channel.last) };
    const { last } = channel;
    const { rowId } = position;
    if (position.change < last.change) {
      const page = this.#changesAfter(position, last.change, limit);
      if (isAfter(page.upTo, position)) return page;
    }
    const { change } = position;
    const rows = this.#messages.entries(rowOffset(rowId), rowOffset(last.rowId), limit);
    const entries = rows.map((row) => this.#rowEntry(row, change));
    return { entries, upTo: entries.at(-1)?.offset ?? latest({ rowId, change }, last) };
  }

  #changesAfter({ rowId, change }: Offset, upTo: number, limit: number): FeedPage {
    const floor = this.#log.floor();
    if (change < floor) return this.#forgotten({ rowId, change: floor }, floor - change);
    const atOnce = Math.min(limit, BATCH_CHANGES);
    const logged = this.#log.changes(change, upTo, atOnce);
    const newest = logged.at(-1)?.seq ?? change;
    return { entries: logged.flatMap((one) => this.#changeEntry(one, rowId)), upTo: { rowId, change: newest } };
  }

  /**
   * Returns a page for a reader whose next changes are no longer kept. Its only event asks the reader to read
   * everything again. The event covers all rows, because `GET /messages` may have shown the reader rows after its
   * offset.
   */
  #forgotten(offset: Offset, count: number): FeedPage {
    const { change } = offset;
    const rowId = Math.max(offset.rowId, this.lastRowId);
    const event: ChangeEvent = {
      type: 'messages.changed',
      data: { first_id: '1', last_id: String(rowId), count },
    };
    const entry = { offset, rowId, guid: '', event, change, generation: this.#generation };
    return { entries: rowId === 0 ? [] : [entry], upTo: offset };
  }

  #rowEntry({ rowId, guid, event, marks }: RowEntry, change: number): LogEntry {
    const offset = { rowId, change };
    return { offset, rowId, guid, event, generation: this.#generation, marks };
  }

  /**
   * Returns the entry for a change. The update of a row has no entry if the row is gone, or if a reader at `rowId` has
   * not received the row yet. The removal of a row always has an entry: `GET /messages` may have shown the row to the
   * reader.
   */
  #changeEntry(change: LoggedChange, rowId: number): LogEntry[] {
    const { seq } = change;
    const isToCome = change.kind === 'updated' && change.rowId > rowId;
    const entry = isToCome ? undefined : this.#eventOf(change);
    return entry === undefined
      ? []
      : [{ ...entry, offset: { rowId, change: seq }, change: seq, generation: this.#generation }];
  }

  #eventOf(change: LoggedChange): Pick<LogEntry, 'rowId' | 'guid' | 'event' | 'marks'> | undefined {
    if (change.kind === 'many') {
      const { firstRowId, lastRowId, count } = change;
      const data = { first_id: String(firstRowId), last_id: String(lastRowId), count };
      return { rowId: lastRowId, guid: '', event: { type: 'messages.changed', data } };
    }
    const { rowId } = change;
    if (change.kind === 'removed') {
      const { guid, conversationId } = change;
      const data = { id: String(rowId), guid, conversation_id: conversationId };
      return { rowId, guid, event: { type: 'message.removed', data } };
    }
    const row = this.#messages.entries(rowOffset(rowId - 1), rowOffset(rowId), 1)[0];
    if (row === undefined || !('status' in row.event.data)) return undefined;
    const event = { type: 'message.updated', data: row.event.data, changes: change.changes } as const;
    return { rowId, guid: row.guid, event, marks: row.marks };
  }
}

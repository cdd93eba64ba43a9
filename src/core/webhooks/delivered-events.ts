import type { Caller } from '../model/caller.ts';
import type { LogEntry } from '../model/event.ts';
import type { IncludeSet } from '../model/include.ts';
import type { Key } from '../model/key.ts';
import type { Offset } from '../model/offset.ts';
import type { RowFeed } from '../model/ports/feed-ports.ts';
import type { DroppedEvent } from '../model/ports/webhooks-ports.ts';
import type { WireEventJson } from '../model/ports/wires-ports.ts';
import { problem } from '../model/problems.ts';
import { type StoredWebhook, wantsChanges } from '../model/webhook.ts';
import type { EventJson } from '../schema/event-json.ts';

export interface DeliveredEventsParts {
  readonly feed: Pick<RowFeed, 'page' | 'changeGeneration'>;
  /** Reads a row again. Returns undefined if it was deleted from chat.db. */
  readonly rowNow: (rowId: number) => LogEntry | undefined;
  /** Returns how many of these rows are in chat.db and cause no event. */
  readonly silentRows: (first: number, last: number) => number;
  readonly json: EventJson;
  /** The serialisers of other programs' protocols that are switched on. Key: the protocol. */
  readonly wires?: ReadonlyMap<string, WireEventJson> | undefined;
  /** Resolves once the requested includes are loaded. Returns undefined if they already are. */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
  /** Returns the ports of a limited key; undefined if the key has expired or was revoked. */
  readonly callerOf?: ((keyId: string) => Caller | undefined) | undefined;
}

/** Events as receivers get them: read again if necessary, and serialised as far as the webhook's key reaches. */
export class DeliveredEvents {
  readonly #parts: DeliveredEventsParts;

  constructor(parts: DeliveredEventsParts) {
    this.#parts = parts;
  }

  rowNow(rowId: number): LogEntry | undefined {
    return this.#parts.rowNow(rowId);
  }

  /** Reports whether one of these rows, which have no event, was deleted. */
  hasLost(first: number, last: number): boolean {
    return this.#parts.silentRows(first, last) < last - first + 1;
  }

  /**
   * Returns the entry of a new row, read from chat.db again; undefined if the row was deleted. An entry of a change is
   * returned without reading.
   */
  current(entry: LogEntry): LogEntry | undefined {
    if (entry.change !== undefined) return entry;
    const row = this.rowNow(entry.rowId);
    return row === undefined ? undefined : { ...entry, guid: row.guid, event: row.event };
  }

  /**
   * Reads a dropped event again. Returns undefined if it no longer exists. `now` is the webhook's offset. If the event
   * is a new row and the webhook asks for changes, the entry gets the change number of `now`.
   */
  dropped({ rowId, change }: DroppedEvent, webhook: StoredWebhook, now: Offset): LogEntry | undefined {
    const { feed } = this.#parts;
    if (change > 0) {
      const [entry] = feed.page({ rowId, change: change - 1 }, 1, { changes: true }).entries;
      return entry?.change === change ? entry : undefined;
    }
    const row = this.rowNow(rowId);
    if (row === undefined || !wantsChanges(webhook)) return row;
    return { ...row, offset: { rowId, change: now.change }, generation: feed.changeGeneration() };
  }

  /** Reports whether the webhook is the owner's, or its key is valid. */
  isValid({ keyId }: StoredWebhook): boolean {
    return keyId === null || this.#parts.callerOf?.(keyId) !== undefined;
  }

  /** Returns the webhook's key; undefined for a webhook of the owner, or if the key is no longer valid. */
  keyOf({ keyId }: StoredWebhook): Key | undefined {
    return keyId === null ? undefined : this.#parts.callerOf?.(keyId)?.key;
  }

  /**
   * Returns the ports of a webhook's key; undefined for a webhook of the owner. Throws `unauthorized` if the key is no
   * longer valid.
   */
  callerOf({ keyId }: StoredWebhook): Caller | undefined {
    if (keyId === null) return undefined;
    const caller = this.#parts.callerOf?.(keyId);
    if (caller === undefined) throw problem('unauthorized');
    return caller;
  }

  /** Resolves once the webhook's includes are loaded. Returns undefined if they already are. */
  ready({ include }: StoredWebhook): Promise<void> | undefined {
    return this.#parts.ready(include);
  }

  /**
   * Returns the text of an event as the receiver gets it; undefined if the receiver's protocol has no such event.
   * Callers first wait for `ready`, so that the includes are loaded.
   */
  async text(
    { wire, include }: StoredWebhook,
    entry: LogEntry,
    caller: Caller | undefined,
  ): Promise<string | undefined> {
    const { json, wires } = this.#parts;
    if (wire !== undefined) return caller && wires?.get(wire.protocol)?.(entry, caller, wire.events);
    return (caller?.json ?? json)(entry, include);
  }
}

import { randomUUID } from 'node:crypto';
import { isAppError } from '../../../core/model/errors.ts';
import type { LogEntry } from '../../../core/model/event.ts';
import { isShownByDefault } from '../../../core/model/narrowing.ts';
import type { Offset } from '../../../core/model/offset.ts';
import type { ConsumerTask, EventConsumer, Handled } from '../../../core/model/ports/feed-ports.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';
import { isConflict } from '../protocol/compare-and-set.ts';
import { managerOf } from '../protocol/connect-once.ts';
import {
  type ChainState,
  type EventMessage,
  encodeEvent,
  eventId,
  readEventHeaders,
} from '../protocol/event-message.ts';
import type { LastPublished } from '../protocol/fleet-records-schema.ts';
import { EVENTS, eventSubject } from '../protocol/layout.ts';
import type { JoinedParts } from './agent.ts';
import { chainIn, chainStart, changeKey, changesAfter } from './change-chain.ts';
import { beforeHistory, startAfter } from './position.ts';

const PUBLISH_MS = 5000;
/** Bytes reserved for headers within the server's maximum message size. */
const HEADER_BYTES = 4096;
const PAUSE_MS = { shortest: 50, longest: 1000 };

/** This Mac's newest messages in the stream. A new message names the newest of any kind and the newest of its kind. */
interface Chain {
  /** Sequence of this Mac's newest message of any kind; 0 if there is none. */
  sequence: number;
  rows: ChainState;
  /** Undefined if this Mac publishes no changes. */
  changes: ChainState | undefined;
}

/**
 * Copies this Mac's events into the stream. Each message names its predecessor, so that no event is lost, repeated or
 * out of order. The stored position moves past an event once the stream has acknowledged it.
 */
export class Uplink implements ConsumerTask<undefined> {
  readonly name = 'fleet';
  readonly #parts: JoinedParts;
  readonly #consumer: EventConsumer;
  /** Undefined until read from the stream: at the start, after a failure or lost connection, and for a new chat.db. */
  #chain: Chain | undefined;
  /** The highest sequence of this Mac's subject that this run has seen. */
  #seen = 0;
  /** Failures to publish or to read the stream, since the stream last acknowledged a message. */
  #failures = 0;
  #trouble: string | undefined;
  #isClosed = false;
  readonly #wakeup: Wakeup;

  constructor(parts: JoinedParts) {
    this.#parts = parts;
    this.#wakeup = new Wakeup(parts.clock);
    this.#consumer = parts.feed.consume(this, { changes: parts.settings.changes });
  }

  /** The position up to which the stream has acknowledged every event. */
  get position(): Offset | undefined {
    return this.#parts.store.position();
  }

  /** Why events cannot be published; undefined while they can. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** This Mac's newest row and newest change in the stream; undefined until they were read from the stream. */
  get last(): LastPublished | undefined {
    const stream = this.#parts.store.stream();
    if (this.#chain === undefined || stream === undefined) return undefined;
    const { rows, changes } = this.#chain;
    return { stream, sequence: rows.sequence, row: rows.row, changes };
  }

  start(): void {
    this.#consumer.start();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#consumer.stop();
    this.#wakeup.close();
    await this.#consumer.ended;
  }

  storedOffset(): Offset {
    // The consumer also calls `storedOffset` after chat.db was replaced. The chain then has the wrong epoch.
    this.#chain = undefined;
    const { store, feed, settings } = this.#parts;
    return store.position() ?? feed.lastPublished({ changes: settings.changes });
  }

  readonly first = (): Promise<void> | undefined => {
    return this.#chain !== undefined && this.#parts.membership.isJoined ? undefined : this.#prepare();
  };

  async handle(entry: LogEntry): Promise<Handled<undefined>> {
    const chain = this.#chain;
    if (chain === undefined) return { isDone: false };
    // Hubs receive no hidden messages. They see no gap, because the next event names the last published row.
    if (!isShownByDefault(entry)) return { isDone: true };
    const { mac } = this.#parts;
    const isChange = entry.change !== undefined;
    const before = isChange ? chain.changes : chain.rows;
    if (before === undefined) return { isDone: true };
    const row = entry.change ?? entry.rowId;
    const id = eventId(mac, before.epoch, isChange ? changeKey(entry) : entry.guid);
    try {
      const json = this.#parts.settings.content === 'metadata' ? undefined : await this.#parts.json(entry);
      if (chain !== this.#chain) throw new Error('out of step');
      const sequence = await this.#publish(chain, id, this.#encode(entry, json, chain, before, { row, id }));
      // The chain was dropped while this message was on its way. The error makes `#prepare` read the stream again.
      if (chain !== this.#chain) throw new Error('out of step');
      chain[isChange ? 'changes' : 'rows'] = { epoch: before.epoch, row, sequence, id };
      this.#failures = 0;
      this.#trouble = undefined;
      return { isDone: true };
    } catch (error) {
      this.#failed(error);
      return { isDone: false };
    }
  }

  gone(): undefined {
    return undefined;
  }

  progress(offset: Offset): void {
    // Without a chain, this run does not know what the stream has acknowledged.
    if (this.#chain !== undefined) this.#parts.store.setPosition(offset);
  }

  /** Publishes a message and returns its sequence. Rejects if this Mac's newest message is not the one in `chain`. */
  async #publish(chain: Chain, msgID: string, { headers, body }: ReturnType<typeof encodeEvent>): Promise<number> {
    const { connection, mac } = this.#parts;
    const published = connection.js.publish(eventSubject(mac), body, {
      headers,
      msgID,
      expect: { streamName: EVENTS.stream, lastSubjectSequence: chain.sequence },
      timeout: PUBLISH_MS,
    });
    const { seq } = await this.#whileJoined(published);
    if (!Number.isSafeInteger(seq) || seq <= chain.sequence) throw new Error('out of step');
    chain.sequence = seq;
    this.#seen = seq;
    return seq;
  }

  async #prepare(): Promise<void> {
    if (this.#isClosed) return;
    const { membership } = this.#parts;
    if (!membership.isJoined) {
      this.#chain = undefined;
      const cancel = membership.onChange(() => this.#wakeup.wake());
      await this.#wakeup.wait();
      cancel();
      return;
    }
    if (this.#failures > 1) await this.#pause();
    if (this.#isClosed || !membership.isJoined) return;
    try {
      await this.#askStream();
    } catch (error) {
      // An AppError means that chat.db is unavailable. The consumer tries again.
      if (isAppError(error)) throw error;
      this.#failed(error);
    }
  }

  /** Rebuilds the chain from the stream. */
  async #askStream(): Promise<void> {
    const { connection, membership, mac, instance, store, messages, feed, settings } = this.#parts;
    // The first `resolve` with `changes` makes the feed detect changes.
    if (settings.changes) feed.resolve(undefined, { changes: true });
    const jsm = await managerOf(connection.nc);
    const { created } = await this.#whileJoined(jsm.streams.info(EVENTS.stream));
    const subject = eventSubject(mac);
    const stored = await this.#whileJoined(jsm.direct.getMessage(EVENTS.stream, { last_by_subj: subject }));
    const found = stored === null ? undefined : readEventHeaders(subject, stored.header, { isDirect: true });
    const sequence = stored?.seq ?? 0;
    const last = found && { ...found, sequence };
    if (last !== undefined && last.instance !== instance && this.#seen > 0 && sequence > this.#seen) {
      // Either a message of an earlier run arrived late, or another machine uses this Mac's id.
      this.#seen = sequence;
      return membership.check();
    }
    const epoch = store.epoch();
    const position = store.position();
    const isSameStream = store.stream() === created;
    const lastRow = last && chainIn(last, false);
    const start = await startAfter({
      // Row 0 means that the stream holds changes of this Mac but no rows.
      mac,
      epoch,
      position,
      last: lastRow?.row === 0 ? undefined : lastRow,
      isSameStream,
      identity: (at) => messages.identity(at),
      backfill: () => beforeHistory(this.#parts, created, position),
    });
    // chat.db may have been replaced while the stream was being asked.
    if (store.epoch() !== epoch) return;
    if (start.epoch !== epoch) store.setEpoch(start.epoch);
    if (!isSameStream) store.setStream(created);
    const known = last && chainIn(last, true);
    const changes = settings.changes ? changesAfter(mac, start.epoch, known, feed) : undefined;
    const after = { ...start.after, change: changes?.row ?? 0 };
    store.setPosition(after);
    this.#consumer.seek(after);
    if (position?.rowId !== start.after.rowId) {
      this.#parts.log.info('publishing to the fleet', { after: start.after.rowId, before: position?.rowId ?? null });
    }
    this.#seen = sequence;
    const { epoch: rowEpoch, previousRow: row } = start;
    const isLast = lastRow?.epoch === rowEpoch && lastRow.row === row;
    const rows = isLast ? lastRow : { epoch: rowEpoch, row, sequence: lastRow?.sequence ?? sequence, id: '' };
    const chain: Chain = { sequence, rows, changes };
    if (changes?.sequence === 0) await this.#startChanges(chain, changes);
    this.#chain = chain;
  }

  /** Publishes where the chain of changes begins, so that hubs notice if they lack earlier changes. */
  async #startChanges(chain: Chain, changes: ChainState): Promise<void> {
    const id = randomUUID();
    const sequence = await this.#publish(chain, id, chainStart(this.#parts, id, changes, chain.rows));
    chain.changes = { ...changes, sequence };
  }

  /** Encodes an event. Omits body and attachments if so configured, or if the message is too large for the server. */
  #encode(
    entry: LogEntry,
    json: string | undefined,
    chain: Chain,
    before: ChainState,
    own: Pick<EventMessage, 'row' | 'id'>,
  ) {
    const { connection, envelope, mac, instance, log } = this.#parts;
    const { epoch, row: previousRow, sequence } = before;
    const message = {
      ...own,
      mac,
      epoch,
      previousRow,
      type: entry.event.type,
      instance,
      previousSequence: sequence === chain.sequence ? undefined : sequence,
      other: before === chain.rows ? chain.changes : chain.rows,
    };
    const bare = () => encodeEvent({ ...message, isMetadata: true }, withoutText(entry), envelope);
    if (json === undefined) return bare();
    const whole = encodeEvent({ ...message, isMetadata: false }, json, envelope);
    const room = (connection.nc.info?.max_payload ?? 1024 * 1024) - HEADER_BYTES;
    if (whole.body.length <= room) return whole;
    log.warn('an event is too large for the broker and is published without its text', { row: entry.rowId });
    return bare();
  }

  #failed(error: unknown): void {
    this.#chain = undefined;
    this.#failures += 1;
    const reason = error instanceof Error ? error.message : String(error);
    // A conflict or a single failure is not reported, because reading the stream again usually solves it.
    if (isConflict(error) || this.#failures === 1) return;
    if (reason !== this.#trouble && this.#parts.membership.isJoined) {
      this.#parts.log.warn('events cannot be published to the fleet, retrying', { reason });
    }
    this.#trouble = reason;
  }

  /** Waits for a request. Rejects when the connection is lost, because no answer can arrive then. */
  async #whileJoined<Value>(request: Promise<Value>): Promise<Value> {
    const { membership } = this.#parts;
    let stop: Cancel | undefined;
    const left = new Promise<never>((_, reject) => {
      stop = membership.onChange(() => reject(new Error('the connection to the broker was lost')));
    });
    // The promise that loses the race may reject later. These handlers keep that rejection from being unhandled.
    request.catch(() => {});
    left.catch(() => {});
    try {
      return await Promise.race([request, left]);
    } finally {
      stop?.();
    }
  }

  #pause(): Promise<void> {
    const { shortest, longest } = PAUSE_MS;
    const ms = Math.min(longest, shortest * 2 ** Math.min(this.#failures, 10));
    return this.#wakeup.wait(ms);
  }
}

export function withoutText({ event }: LogEntry): string {
  return JSON.stringify(
    'body' in event.data ? { ...event, data: { ...event.data, body: '', attachments: [] } } : event,
  );
}

import {
  type ConsumerMessages,
  DeliverPolicy,
  type MsgRequest,
  type StoredMsg,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { Channel } from '../../../core/log/channel.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { brokerAway, type FleetParts } from '../protocol/connection.ts';
import { every } from '../protocol/every.ts';
import { EVENTS, endInDoubt, isOfBroker, memberOfSubject, unlessMissing } from '../protocol/subjects.ts';
import { Loop } from './loop.ts';
import { isSameMoment, type Place, placeOf } from './place.ts';
import { type StreamEntry, storedAtMs, streamEntry } from './stream-entry.ts';

/** Number of events that clients near the end of the stream read from memory. */
const RING = 2000;
const WATCH_EVERY_MS = 1000;
/** How long the broker keeps the consumer of a hub that was killed. */
const INACTIVE_MS = 30_000;

/**
 * Follows the end of the stream with one consumer, for all clients of this hub. Notices when the broker's stream is not
 * the one that was read: deleted, restored from a copy, or cut.
 */
export class StreamTail {
  readonly channel = new Channel(RING);
  readonly #parts: FleetParts;
  readonly #loop: Loop;
  readonly #rewindListeners: (() => void)[] = [];
  readonly #entryListeners: ((entry: StreamEntry) => void)[] = [];
  #messages: ConsumerMessages | undefined;
  /** Sequence up to which the stream had events when following began; everything up to it is past. */
  #target = Number.POSITIVE_INFINITY;
  /** The last state of the stream that the broker reported. */
  #info: StreamInfo | undefined;
  /** The connection, and the server that led the stream, when it was last seen to be the same. */
  #sameFor: readonly [NatsConnection, leader: string | undefined] | undefined;
  #rejected = 0;
  /** Reports whether the newest event of each member could be opened. */
  readonly #isReadable = new Map<string, boolean>();

  constructor(parts: FleetParts) {
    this.#parts = parts;
    this.#loop = new Loop(parts, 'the events of the fleet cannot be followed', () => this.#follow());
  }

  /** The newest place that this hub has read. Throws `broker_away` while the hub cannot know the end of the stream. */
  get last(): Place {
    if (!this.isFilled || !this.#parts.connection.isConnected) throw brokerAway();
    return placeOf(this.channel.last);
  }

  /** Reports whether everything that was in the stream when following began has been read. */
  get isFilled(): boolean {
    return this.channel.last.rowId >= this.#target;
  }

  /** The stream as the broker last described it; undefined before the first answer. */
  get info(): StreamInfo | undefined {
    return this.#info;
  }

  /** Number of messages in the stream that were no readable events. */
  get rejected(): number {
    return this.#rejected;
  }

  /**
   * Reports whether no Mac's newest event can be opened, as with a key that the Macs do not have. One Mac alone may
   * lie.
   */
  get isKeyWrong(): boolean {
    const members = [...this.#isReadable.values()];
    return members.length > 0 && !members.includes(true);
  }

  /** Why the stream cannot be followed; undefined if it can. */
  get trouble(): string | undefined {
    return this.#parts.connection.trouble ?? this.#loop.trouble;
  }

  /** Calls `run` with each event that is read. */
  onEntry(run: (entry: StreamEntry) => void): void {
    this.#entryListeners.push(run);
  }

  /** Calls `run` whenever the stream turns out to be another one. */
  onRewound(run: () => void): void {
    this.#rewindListeners.push(run);
  }

  async close(): Promise<void> {
    const ended = this.#loop.close();
    this.#messages?.stop();
    await ended;
  }

  /** Returns whether the broker still has the event of this place there. Rejects while the broker cannot say. */
  async isStill({ rowId, atMs }: Pick<Place, 'rowId' | 'atMs'>): Promise<boolean> {
    const found = await this.stored({ seq: rowId });
    return found !== undefined && isSameMoment(found.time.getTime(), atMs);
  }

  /** Returns what the leader of the stream has, while a consumer reads from a copy, which may be behind. */
  async stored(query: MsgRequest): Promise<StoredMsg | undefined> {
    const { streams } = await this.#parts.connection.manager();
    return unlessMissing(() => streams.getMessage(EVENTS, query));
  }

  /** Asks the broker for the state of the stream. */
  async ask(): Promise<StreamInfo> {
    this.#info = await (await this.#parts.connection.manager()).streams.info(EVENTS);
    return this.#info;
  }

  /** Follows the stream until the connection ends, or the stream is another one. */
  async #follow(): Promise<void> {
    const info = await this.ask();
    if (!(await this.#isSame(info, placeOf(this.#start())))) await this.#restart(info);
    const from = this.channel.last.rowId + 1;
    if (info.state.messages === 0) this.#target = 0;
    const consumer = await this.#parts.connection.js.consumers.get(EVENTS, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
      inactive_threshold: INACTIVE_MS,
    });
    const messages = await consumer.consume({ max_messages: 500, expires: 4000, idle_heartbeat: 1000 });
    this.#messages = messages;
    void endInDoubt(messages);
    // The hub may have been closed while the consumer was made.
    if (this.#loop.isClosed) messages.stop();
    const cancelWatch = this.#watch(messages);
    this.#loop.succeeded();
    const { generation } = this.channel;
    try {
      for await (const message of messages) {
        const { rowId, stream } = this.#start();
        // The client makes its consumer again after a reconnect. If the stream is another one, its numbers begin again.
        if (generation !== this.channel.generation || message.seq <= rowId) break;
        const place = { stream, rowId: message.seq, change: 0, atMs: storedAtMs(message), generation } as const;
        const entry = streamEntry(message, place, this.#parts.envelope);
        if (!isOfBroker(message.data)) this.#isReadable.set(memberOfSubject(message.subject), entry !== undefined);
        if (entry === undefined) this.#reject(place);
        else this.#publish(entry);
      }
    } finally {
      cancelWatch();
      messages.stop();
      const deleted = consumer.delete().catch(() => false);
      if (this.#loop.isClosed) await deleted;
    }
  }

  #start(): Place {
    const { last } = this.channel;
    return 'stream' in last ? placeOf(last) : { rowId: 0, change: 0, stream: '', atMs: 0, generation: 0 };
  }

  #publish(entry: StreamEntry): void {
    for (const run of this.#entryListeners) run(entry);
    this.channel.publish([entry]);
  }

  #reject(place: Place): void {
    this.#rejected += 1;
    this.channel.skipTo(place);
  }

  /** Drops what is in memory, and begins `RING` events before the end of the stream. */
  async #restart({ created, state }: StreamInfo): Promise<void> {
    const before = Math.max(state.first_seq - 1, state.last_seq - RING, 0);
    const found = before === 0 ? undefined : await this.stored({ seq: before });
    // Every hub gives the beginning of a stream the same time: an empty stream has none.
    const atMs = before === 0 ? 0 : (found?.time.getTime() ?? (before === state.last_seq ? lastMs(state) : 0));
    const isFirst = this.#start().stream === '';
    const generation = this.channel.generation + 1;
    this.#target = state.messages === 0 ? 0 : state.last_seq;
    this.#isReadable.clear();
    const start: Place = { rowId: before, change: 0, stream: created, atMs, generation };
    this.channel.restart(start);
    if (isFirst) return;
    this.#parts.log.warn('the stream of the fleet is not the one that was read; clients begin where it is known again');
    for (const run of this.#rewindListeners) run();
  }

  /**
   * Returns whether the stream is the one whose event `last` was read. `last` must be older than `info`: events that
   * were read after the question are beyond its answer.
   */
  async #isSame({ created, state, cluster }: StreamInfo, last: Place): Promise<boolean> {
    if (created !== last.stream || state.last_seq < last.rowId) return false;
    const { nc } = this.#parts.connection;
    const [knownConnection, knownLeader] = this.#sameFor ?? [];
    if ((nc === knownConnection && cluster?.leader === knownLeader) || last.rowId === 0) return true;
    const isSame = (await this.isStill(last)) || state.first_seq > last.rowId;
    if (isSame) this.#sameFor = [nc, cluster?.leader];
    return isSame;
  }

  /** Asks every second whether the stream is still the same, and ends the following if it is not. */
  #watch(messages: ConsumerMessages): Cancel {
    return every(this.#parts.clock, WATCH_EVERY_MS, async () => {
      const last = this.#start();
      try {
        if (!(await this.#isSame(await this.ask(), last))) messages.stop();
      } catch {
        // The broker is away. Its stream is compared once it is back.
      }
    });
  }
}

function lastMs(state: StreamInfo['state']): number {
  return new Date(state.last_ts).getTime();
}

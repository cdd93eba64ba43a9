import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../../core/model/caller.ts';
import { isChatDbAway } from '../../../core/model/errors.ts';
import { isRowEntry } from '../../../core/model/event.ts';
import type { Offset } from '../../../core/model/offset.ts';
import type { FeedReader } from '../../../core/model/ports/feed-ports.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';
import { eventOccurrence } from '../event-occurrence.ts';
import { replayStart } from '../replay-start.ts';
import type { ServerParts } from '../server-parts.ts';
import { subscriptionFilter } from '../subscriptions/subscription.ts';
import { eventError, forbidden } from './errors.ts';
import type { AskedEvents } from './params.ts';

/** The protocol requires a heartbeat at least every 30 s. */
const HEARTBEAT_MS = 15_000;
const RETRY_MS = 1000;
const BATCH = 50;
/** Bytes of memory reserved for the unread notifications of one stream. */
export const MOST_STREAM_BYTES = 600_000;

type StreamParts = Pick<ServerParts, 'request' | 'clock' | 'log' | 'ending' | 'keyEnd'>;

/** Answers `events/stream` with notifications until the client disconnects, the key ends or the service stops. */
export async function stream(asked: AskedEvents, call: ServerContext, parts: StreamParts): Promise<object> {
  const { clock, request } = parts;
  const { caller } = request;
  const release = caller.streams?.open();
  try {
    const floorMs = asked.maxAgeMs === undefined ? undefined : clock.now() - asked.maxAgeMs;
    const { offset, truncated } = await replayStart(caller.feed, asked.cursor, floorMs);
    const running = new EventStream(asked, offset, call, parts);
    try {
      await running.run(truncated);
    } finally {
      running.close();
    }
    return {};
  } finally {
    release?.();
  }
}

/** One stream, from its confirmation to its end. */
class EventStream {
  readonly #asked: AskedEvents;
  readonly #call: ServerContext;
  readonly #parts: StreamParts;
  readonly #caller: Caller;
  readonly #wakeup: Wakeup;
  readonly #reader: FeedReader;
  readonly #isWanted: ReturnType<typeof subscriptionFilter>;
  readonly #signals: readonly AbortSignal[];
  #position: Offset;
  #generation: number;
  #notifiedMs = 0;

  constructor(asked: AskedEvents, offset: Offset, call: ServerContext, parts: StreamParts) {
    this.#asked = asked;
    this.#call = call;
    this.#parts = parts;
    this.#caller = parts.request.caller;
    this.#wakeup = new Wakeup(parts.clock);
    this.#position = offset;
    this.#isWanted = subscriptionFilter(asked.name, asked.arguments, () => this.#caller.key);
    this.#reader = this.#caller.feed.resume(offset, this.#wake);
    this.#generation = this.#reader.generation();
    this.#signals = [call.mcpReq.signal, parts.ending, parts.keyEnd];
    for (const signal of this.#signals) signal.addEventListener('abort', this.#wake);
  }

  async run(truncated: boolean): Promise<void> {
    await this.#notify('active', { cursor: this.#cursor(), truncated });
    while (!this.#signals.some(({ aborted }) => aborted)) {
      try {
        if (!(await this.#next())) await this.#rest();
      } catch (error) {
        if (!isChatDbAway(error)) throw error;
        const { code, message, data } = eventError(error, this.#parts.log);
        await this.#notify('error', { error: { code, message, data } });
        await this.#wakeup.wait(RETRY_MS);
      }
    }
    if (!this.#parts.keyEnd.aborted) return;
    const { code, message, data } = forbidden('unauthorized', 'The key is not valid any more.');
    await this.#notify('terminated', { error: { code, message, data } });
  }

  close(): void {
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#wake);
    this.#reader.close();
    this.#wakeup.close();
  }

  readonly #wake = (): void => this.#wakeup.wake();

  /** Sends the next events. Resolves to false if the feed has no more events for now. */
  async #next(): Promise<boolean> {
    const { entries, upTo } = this.#reader.take(BATCH);
    const hasGap = this.#reader.generation() !== this.#generation;
    this.#generation = this.#reader.generation();
    // The generation changes when chat.db is replaced. Events before `upTo` may then be lost, so the client is informed
    // by `truncated`.
    if (hasGap) await this.#notify('active', { cursor: this.#text(upTo), truncated: true });
    for (const entry of entries) {
      if (!isRowEntry(entry) || !this.#isWanted(entry)) continue;
      if (this.#signals.some(({ aborted }) => aborted)) return true;
      this.#position = entry.offset;
      const occurrence = eventOccurrence(entry, this.#asked.arguments.content ?? 'full');
      await this.#notify('event', { ...occurrence, cursor: this.#cursor() });
    }
    this.#position = upTo;
    if (this.#reader.isCaughtUp()) return false;
    // Lets other requests run.
    await nextTurn();
    return true;
  }

  /**
   * Waits for more events until the next heartbeat is due. If a heartbeat is already due, sends it instead. The
   * heartbeat's cursor is the current position, from which the client can resume.
   */
  async #rest(): Promise<void> {
    const dueMs = this.#notifiedMs + HEARTBEAT_MS - this.#parts.clock.monotonic();
    if (dueMs > 0) await this.#wakeup.wait(dueMs);
    else await this.#notify('heartbeat', { cursor: this.#cursor() });
  }

  async #notify(what: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    const { clock, request } = this.#parts;
    const meta = { 'io.modelcontextprotocol/subscriptionId': this.#call.mcpReq.id };
    const params = { ...body, _meta: meta };
    this.#notifiedMs = clock.monotonic();
    request.flow.noteSent(Buffer.byteLength(JSON.stringify(params)));
    // Fails only if the client is gone. The request's signal then ends the stream.
    await this.#call.mcpReq.notify({ method: `notifications/events/${what}`, params }).catch(() => {});
    await request.flow.room();
  }

  #cursor(): string {
    return this.#text(this.#position);
  }

  #text(offset: Offset): string {
    return this.#caller.feed.offsetText(offset, undefined);
  }
}

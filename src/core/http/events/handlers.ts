import { setImmediate as nextTurn } from 'node:timers/promises';
import { allowedWait, type EventCaller } from '../../model/caller.ts';
import { MS_PER_S } from '../../model/durations.ts';
import type { IncludeSet } from '../../model/include.ts';
import { decodeOffset, isAfter, type Offset } from '../../model/offset.ts';
import type { StreamForm, StreamRequest } from '../../model/ports/streams-ports.ts';
import { problem } from '../../model/problems.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import { pageLink } from '../../schema/page-link.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import { streamQuery } from '../../schema/stream-query.ts';
import { acceptedRanges } from '../accepted-ranges.ts';
import type { Answer, LiveAnswer } from '../answer.ts';
import { unauthorized } from '../api-keys.ts';
import type { Exchange } from '../exchange.ts';
import { fittingTexts, listOfTexts } from '../fitting-list.ts';
import type { Handler } from '../router.ts';
import { eventsQuery, LAST_EVENT_ID_MISTAKE } from './schema.ts';

/** Number of entries to read before other requests get a turn. Reading them takes a few milliseconds. */
const BATCH_SIZE = 200;

/**
 * Maximum number of rows that one call of `readPage` examines. A limited key may see so few rows that the call would
 * otherwise read the whole log.
 */
const MAX_LOOKED = 5000;
const EVERYTHING = (): boolean => true;

/** Media types of the streams. */
const TYPES: Readonly<Record<StreamForm, string>> = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' };

export interface EventSource {
  /**
   * Loads what `include` needs. Rejects if it cannot be included. Returns undefined if there is nothing to wait for.
   */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
  /** Opens an endless stream of events. Rejects with the AppError to answer with. */
  readonly openStream: (request: StreamRequest, form: StreamForm) => Promise<LiveAnswer>;
}

/** Returns the handlers for events after an offset: one page, or an endless stream (decisions G4, Q1). */
export function eventHandlers(source: EventSource) {
  return {
    listEvents(exchange) {
      const form = streamForm(exchange.header('accept'));
      return form === undefined ? page(source, exchange) : stream(source, exchange, form);
    },
    // Answers plain requests at the WebSocket's path (decision E2). Handshakes never reach the router.
    openWebSocket() {
      throw problem('upgrade_required', {}, { headers: { Upgrade: 'websocket', Connection: 'Upgrade' } });
    },
  } satisfies Readonly<Record<string, Handler<EventCaller>>>;
}

/**
 * Returns the form of stream that `accept` asks for. Returns undefined for a list or a wildcard, because clients that
 * send one expect JSON.
 */
function streamForm(accept = ''): StreamForm | undefined {
  const [first, second] = acceptedRanges(accept);
  if (second !== undefined || !first?.isAccepted) return undefined;
  if (first.range === TYPES.sse) return 'sse';
  return first.range === TYPES.ndjson ? 'ndjson' : undefined;
}

async function stream({ openStream }: EventSource, exchange: Exchange<EventCaller>, form: StreamForm): Promise<Answer> {
  // A client of Server-Sent Events reconnects with the same URL, and sends its position in this header.
  const lastId = (form === 'sse' && exchange.header('last-event-id')) || undefined;
  const resumed = lastId === undefined ? undefined : decodeOffset(lastId);
  const mistakes = lastId !== undefined && resumed === undefined ? [LAST_EVENT_ID_MISTAKE] : [];
  const { after, changes, include, ...narrowing } = readQuery(streamQuery, exchange.query, mistakes);
  const { caller } = exchange;
  const live = await openStream({ after: resumed ?? after, changes, include, narrowing, caller }, form);
  // Proxies such as nginx would otherwise hold events back until their buffer is full.
  const headers = { 'Content-Type': TYPES[form], 'X-Accel-Buffering': 'no' };
  return { status: 200, live, headers };
}

async function page({ ready }: EventSource, exchange: Exchange<EventCaller>): Promise<Answer> {
  const { feed, json } = exchange.caller;
  const { after, changes, limit, include, wait = 0, ...narrowing } = readQuery(eventsQuery, exchange.query);
  const wanted = feed.wanted(narrowing) ?? EVERYTHING;
  await ready(include);
  let position = await feed.resolve(after, { changes });
  // If the change log restarts while this request reads, reading stops. The client's next request reports the restart.
  const generation = feed.changeGeneration();
  const isExpired = (): boolean => changes && feed.changeGeneration() !== generation;
  let texts: readonly string[] = [];

  /** Reads one page. Returns false if there is more to read now. */
  async function readPage(): Promise<boolean> {
    let looked = 0;
    for (;;) {
      if (isExpired()) return true;
      const found = await feed.page(position, Math.min(limit - texts.length, BATCH_SIZE), { changes });
      const entries = found.entries.filter(wanted);
      const added = await Promise.all(entries.map(async (entry) => json(entry, include)));
      const fitting = fittingTexts([...texts, ...added], ({ data }: { readonly data?: object }) => data);
      const shown = fitting.length - texts.length;
      texts = fitting;
      if (shown < entries.length) {
        position = entries[shown - 1]?.offset ?? position;
        return false;
      }
      looked += found.looked;
      position = found.upTo;
      // Compares positions, because with `changes` a page may be empty although more entries follow.
      if (!isAfter(feed.lastPublished({ changes }), position)) return true;
      if (texts.length >= limit || looked >= MAX_LOOKED) return false;
      await nextTurn();
    }
  }

  if (wait === 0) await readPage();
  else {
    await readWithin(allowedWait(exchange.caller, wait) * MS_PER_S, {
      exchange,
      changes,
      position,
      readPage,
      isDone: () => texts.length > 0 || isExpired(),
    });
  }
  // The link always continues from the last entry read, even if a limited key may not see that entry.
  const next = { after: feed.offsetText(position, changes ? generation : undefined) };
  const headers = { Link: pageLink(eventsQuery, exchange.query, next) };
  return { status: 200, content: listOfTexts(texts), headers };
}

interface Waiting {
  readonly exchange: Exchange<EventCaller>;
  readonly changes: boolean;
  readonly position: Offset;
  readonly readPage: () => Promise<boolean>;
  readonly isDone: () => boolean;
}

/**
 * Reads pages until `isDone` returns true, the time is up, the client has disconnected, or the service stops. Throws
 * `limited_key_refused` if the key is revoked or expires meanwhile.
 */
async function readWithin(ms: number, { exchange, changes, position, readPage, isDone }: Waiting): Promise<void> {
  const { caller, signal, clock, closing } = exchange;
  const news = new Wakeup(clock);
  let hasKeyEnded = false;
  let mayHaveMore = false;
  const endsAtMs = clock.monotonic() + ms;
  const end = (): void => news.wake();
  const reader = caller.feed.resume(
    position,
    () => {
      mayHaveMore = true;
      news.wake();
    },
    { changes },
  );
  const cancelKey = caller.onEnd?.(() => {
    hasKeyEnded = true;
    news.wake();
  });
  for (const aborted of [closing, signal]) aborted.addEventListener('abort', end);
  try {
    for (;;) {
      mayHaveMore = false;
      const isCaughtUp = await readPage();
      if (hasKeyEnded) throw unauthorized();
      const leftMs = endsAtMs - clock.monotonic();
      if (isDone() || leftMs <= 0 || closing.aborted || signal.aborted) return;
      if (!isCaughtUp) await nextTurn();
      else if (!mayHaveMore) await news.wait(leftMs);
    }
  } finally {
    cancelKey?.();
    for (const aborted of [closing, signal]) aborted.removeEventListener('abort', end);
    reader.close();
  }
}

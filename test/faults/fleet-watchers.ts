import { Receiver } from '../support/receiver.ts';
import { KEY, type Service } from '../support/service.ts';
import type { FleetWorld } from './fleet-world.ts';

const HEADERS = { 'x-api-key': KEY, connection: 'close' };
/** A client that has heard nothing for this long goes to the other hub. */
const SILENT_MS = 4000;

interface Arrival {
  readonly guid: string;
  readonly member: string;
  readonly atMs: number;
}

/** What one way out of the fleet showed since the last `begin`. */
export interface Tally {
  readonly lost: number;
  readonly repeated: number;
  /** Events that came for the first time after a later one of the stream or, in a new stream, of their Mac. */
  readonly disorder: number;
  readonly pauseMs: number;
  readonly gone: number;
}

/** Everything that arrived at one receiver. */
class Arrivals {
  readonly all: Arrival[] = [];
  readonly known = new Set<string>();
  gone = 0;
  unavailable = 0;

  add(data: Readonly<Record<string, unknown>>): void {
    const guid = String(data.guid);
    this.known.add(guid);
    this.all.push({ guid, member: String(data.mac), atMs: performance.now() });
  }
}

/** A webhook's receiver, a client that polls both hubs in turn, and one that follows live events. */
export class Watchers {
  readonly #world: FleetWorld;
  readonly #arrivals = { webhook: new Arrivals(), poll: new Arrivals(), live: new Arrivals() };
  readonly #over = new AbortController();
  readonly #ended: Promise<unknown>[] = [];
  readonly #receiver: Receiver;
  #since = { ms: 0, counts: { webhook: 0, poll: 0, live: 0 }, gone: { webhook: 0, poll: 0, live: 0 } };

  private constructor(world: FleetWorld, receiver: Receiver) {
    this.#world = world;
    this.#receiver = receiver;
  }

  static async start(world: FleetWorld): Promise<Watchers> {
    const receiver = await Receiver.start();
    const watchers = new Watchers(world, receiver);
    receiver.answerWith((response, { event }) => {
      watchers.#arrivals.webhook.add(event.data);
      response.writeHead(204).end();
    });
    const made = await world.hub(0).post('/webhooks', { url: receiver.url, events: ['message.received'] });
    if (made.status !== 201) throw new Error(made.text);
    watchers.#ended.push(watchers.#poll(), watchers.#live());
    return watchers;
  }

  async end(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#ended);
    await this.#receiver.close();
  }

  /** Begins to count pauses, repeats and 410 anew. */
  begin(): void {
    const of = (read: (arrivals: Arrivals) => number) => {
      const { webhook, poll, live } = this.#arrivals;
      return { webhook: read(webhook), poll: read(poll), live: read(live) };
    };
    this.#since = { ms: performance.now(), counts: of(({ all }) => all.length), gone: of(({ gone }) => gone) };
  }

  /** Returns how many of the first rows have not arrived, for each way out. */
  missing(rows: number): Readonly<Record<string, number>> {
    const written = this.#world.written.slice(0, rows);
    return Object.fromEntries(
      Object.entries(this.#arrivals).map(([name, { known }]) => [
        name,
        written.filter(({ guid }) => !known.has(guid)).length,
      ]),
    );
  }

  /** `stream` is the order to compare with; undefined compares with each Mac's order alone. */
  tallies(stream: readonly string[] | undefined, rows: number): Readonly<Record<'webhook' | 'poll' | 'live', Tally>> {
    const of = (name: 'webhook' | 'poll' | 'live'): Tally => {
      const { all, known, gone } = this.#arrivals[name];
      const { ms, counts, gone: goneBefore } = this.#since;
      const late = all.slice(counts[name]);
      const before = new Set(all.slice(0, counts[name]).map(({ guid }) => guid));
      const first = late.filter(({ guid }) => !before.has(guid) && before.add(guid));
      const times = [ms, ...late.map(({ atMs }) => atMs)];
      return {
        lost: this.#world.written.slice(0, rows).filter(({ guid }) => !known.has(guid)).length,
        repeated: late.length - first.length,
        disorder: disorder(first, stream, this.#world),
        pauseMs: Math.round(Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time)), 0)),
        gone: gone - goneBefore[name],
      };
    };
    return { webhook: of('webhook'), poll: of('poll'), live: of('live') };
  }

  /** Asks the hubs in turn for what follows, and goes on with `resume` after a 410. */
  async #poll(): Promise<void> {
    const { poll } = this.#arrivals;
    let after = '0';
    for (let turn = 0; !this.#over.signal.aborted; turn += 1) {
      try {
        const answer = await fetch(`${this.#hub(turn).url}/events?after=${after}&limit=500`, {
          headers: HEADERS,
          signal: AbortSignal.any([this.#over.signal, AbortSignal.timeout(SILENT_MS)]),
        });
        const body = await answer.json();
        if (answer.status === 200) {
          for (const { data, offset } of body as { data: Record<string, unknown>; offset: string }[]) {
            poll.add(data);
            after = offset;
          }
        } else if (answer.status === 410) {
          poll.gone += 1;
          after = (body as { resume: string }).resume;
        } else poll.unavailable += 1;
      } catch {
        poll.unavailable += 1;
      }
      await shortly();
    }
  }

  async #live(): Promise<void> {
    const { live } = this.#arrivals;
    let after = '0';
    for (let turn = 0; !this.#over.signal.aborted; turn += 1) {
      const silence = new AbortController();
      let timer = setTimeout(() => silence.abort(), SILENT_MS);
      try {
        const answer = await fetch(`${this.#hub(turn).url}/events?after=${after}`, {
          headers: { ...HEADERS, accept: 'text/event-stream' },
          signal: AbortSignal.any([this.#over.signal, silence.signal]),
        });
        if (answer.status === 410) {
          live.gone += 1;
          after = ((await answer.json()) as { resume: string }).resume;
        } else if (answer.status === 200 && answer.body !== null) {
          let rest = '';
          for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
            clearTimeout(timer);
            timer = setTimeout(() => silence.abort(), SILENT_MS);
            const frames = (rest + chunk).split('\n\n');
            rest = frames.pop() ?? '';
            for (const frame of frames) {
              const data = /^data: ?(.*)$/m.exec(frame)?.[1];
              const id = /^id: ?(.*)$/m.exec(frame)?.[1];
              if (data === undefined || id === undefined) continue;
              const event = JSON.parse(data) as { readonly data?: Readonly<Record<string, unknown>> };
              if (event.data?.guid !== undefined) live.add(event.data);
              after = id;
            }
          }
        } else live.unavailable += 1;
      } catch {
        live.unavailable += 1;
      }
      clearTimeout(timer);
      await shortly();
    }
  }

  #hub(turn: number): Service {
    return this.#world.hub(turn % this.#world.hubs.length);
  }
}

/** Number of arrivals that would have to come at another time for all to be in order. */
function disorder(first: readonly Arrival[], stream: readonly string[] | undefined, world: FleetWorld): number {
  const places = new Map((stream ?? world.written.map(({ guid }) => guid)).map((guid, index) => [guid, index]));
  const lines = new Map<string, number[]>();
  for (const { guid, member } of first) {
    const place = places.get(guid);
    if (place === undefined) continue;
    const line = stream === undefined ? member : '';
    const seen = lines.get(line) ?? [];
    seen.push(place);
    lines.set(line, seen);
  }
  return [...lines.values()].reduce((sum, line) => sum + line.length - longestRise(line), 0);
}

/** Returns the length of the longest rising subsequence. */
function longestRise(numbers: readonly number[]): number {
  const ends: number[] = [];
  for (const number of numbers) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    ends[low] = number;
  }
  return ends.length;
}

function shortly(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 50));
}

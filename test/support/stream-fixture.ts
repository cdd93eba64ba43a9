import { get, type IncomingMessage } from 'node:http';
import { afterEach } from '@jest/globals';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import type { Caller } from '../../src/core/model/caller.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { RowFeed } from '../../src/core/model/ports/feed-ports.ts';
import { HttpStreams } from '../../src/core/streams/http-streams.ts';
import { limitedFeed } from '../../src/features/access/limited-feed.ts';
import { plainJson } from './event-json.ts';
import { waitFor } from './eventually.ts';
import { FakeClock } from './fake-clock.ts';
import { HttpGateway, KEY } from './http-gateway.ts';
import { collectingLog } from './log.ts';
import { MemoryLog } from './memory-log.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

export const SSE = 'text/event-stream';
export const NDJSON = 'application/x-ndjson';

type Options = Partial<Pick<Caller, 'json' | 'onEnd' | 'streams'>> & {
  /** Reports whether a limited key may see an event. */
  readonly admits?: (entry: LogEntry) => boolean;
  readonly ready?: () => Promise<void> | undefined;
};

/** The HTTP server with the streams of `GET /events`, and a message log to publish from. */
export class StreamFixture {
  readonly messages = new MemoryLog();
  readonly channel = new Channel();
  readonly clock = new FakeClock();
  readonly log = collectingLog();
  readonly streams: HttpStreams;
  readonly #gateway: Promise<HttpGateway>;

  private constructor(
    { json = plainJson(), ready = () => undefined, admits, ...caller }: Options,
    change: (feed: Feed) => RowFeed,
  ) {
    const { messages, channel, clock, log } = this;
    const whole = change(new Feed({ channel, messages, clock, log }));
    const feed = admits === undefined ? whole : limitedFeed(whole, admits);
    const streams = new HttpStreams({ feed, clock, log, ready });
    this.streams = streams;
    const openStream = streams.open.bind(streams);
    this.#gateway = HttpGateway.start({ feed, clock, log, json, openStream, ...caller });
  }

  static async open(options: Options = {}, change = (feed: Feed): RowFeed => feed): Promise<StreamFixture> {
    const fixture = new StreamFixture(options, change);
    const gateway = await fixture.#gateway;
    closers.push(async () => {
      const closed = Promise.all([gateway.close(), fixture.streams.close(1000)]);
      await fixture.clock.advance(1000);
      await closed;
    });
    return fixture;
  }

  get gateway(): Promise<HttpGateway> {
    return this.#gateway;
  }

  publish(from: number, to: number): void {
    for (let first = from; first <= to; first += 256) {
      const last = Math.min(to, first + 255);
      this.messages.addMany(first, last);
      this.channel.publish(this.messages.entries(rowOffset(first - 1), rowOffset(last), 256));
    }
  }

  /** Requests events, and reads the answer until told otherwise. */
  async events(accept: string, query = '', headers: Readonly<Record<string, string>> = {}): Promise<Reading> {
    const { port } = await this.#gateway;
    const before = this.streams.counts.clients;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const path = `/api/v1/events${query}`;
      const asked = get(
        {
          host: '127.0.0.1',
          port,
          path,
          agent: false,
          headers: { 'X-API-Key': Buffer.from(KEY).toString('latin1'), Accept: accept, ...headers },
        },
        resolve,
      );
      asked.on('error', reject);
      closers.push(() => asked.destroy());
    });
    const isStream = [SSE, NDJSON].includes(response.headers['content-type'] ?? '');
    if (isStream) await waitFor(() => this.streams.counts.clients > before);
    return new Reading(response);
  }
}

/** What one client has read. */
class Reading {
  readonly response: IncomingMessage;
  text = '';
  hasEnded = false;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      this.text += chunk;
    });
    response.on('error', () => undefined);
    response.on('close', () => {
      this.hasEnded = true;
    });
  }

  get status(): number | undefined {
    return this.response.statusCode;
  }

  get json(): unknown {
    return JSON.parse(this.text) as unknown;
  }

  /** The Server-Sent Events without comments. */
  get messages(): readonly { readonly id: string; readonly data: Envelope }[] {
    const blocks = this.text.split('\n\n').slice(0, -1);
    return blocks
      .filter((block) => !block.startsWith(':'))
      .map((block) => {
        const [, id = '', data = ''] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? [];
        return { id, data: JSON.parse(data) as Envelope };
      });
  }

  get comments(): number {
    return this.text.split('\n\n').filter((block) => block.startsWith(':')).length;
  }

  /** The parsed lines of an NDJSON stream. */
  get lines(): readonly Envelope[] {
    return this.text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Envelope);
  }

  get ids(): readonly (string | undefined)[] {
    return this.messages.map(({ data }) => data.data?.id);
  }
}

interface Envelope {
  readonly type?: string;
  readonly data?: { readonly id: string };
  readonly offset?: string;
}

import { afterEach, describe, expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import type { Message } from '../../src/core/model/message.ts';
import { encodeOffset, rowOffset } from '../../src/core/model/offset.ts';
import type { RowFeed } from '../../src/core/model/ports/feed-ports.ts';
import type { MessageQuery, Page } from '../../src/core/model/ports/reading-ports.ts';
import { eventSerializer } from '../../src/core/schema/event-json.ts';
import { PEOPLE } from '../../src/features/contacts/port.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { MESSAGE } from '../support/http-gateway.ts';

const MAX_BYTES = 16_000_000;
const KB = 1000;

let gateway: FeatureGateway;
afterEach(() => gateway.close());

/** Returns messages whose bodies and details have these sizes. */
function messages(count: number, bodyBytes: number, detailsBytes: number): readonly Message[] {
  const details = { kind: 'message', sentence: 'd'.repeat(detailsBytes) } as unknown as MessageDetails;
  return Array.from({ length: count }, (_, at) => ({
    ...MESSAGE,
    id: String(at + 1),
    body: 'b'.repeat(bodyBytes),
    ...(detailsBytes > 0 && { details }),
  }));
}

/** Reads pages of a list whose cursors are the positions of their items. */
function pageOf<Item>(items: readonly Item[], limit: number, cursor = '0'): Page<Item> {
  const start = Number(cursor);
  const end = start + limit;
  return { items: items.slice(start, end), ...(end < items.length && { next: String(end) }) };
}

/** A log of these messages, one row each. */
function feedOf(all: readonly Message[]): RowFeed {
  const entries = all.map(
    ({ details: _, ...data }, at): LogEntry => ({
      offset: rowOffset(at + 1),
      rowId: at + 1,
      guid: data.guid,
      event: { type: 'message.received', data },
    }),
  );
  const unused = (): never => {
    throw new Error('not used');
  };
  return {
    lastPublished: () => rowOffset(all.length),
    live: unused,
    resume: unused,
    consume: unused,
    changeGeneration: () => 0,
    offsetText: ({ rowId }) => String(rowId),
    admits: () => true,
    wanted: () => undefined,
    resolve: (offset) => rowOffset(offset !== undefined && 'rowId' in offset ? offset.rowId : 0),
    page: ({ rowId }, limit) => {
      const found = entries.slice(rowId, rowId + limit);
      return { entries: found, looked: found.length, upTo: rowOffset(rowId + found.length) };
    },
  };
}

async function start(all: readonly Message[]): Promise<void> {
  gateway = await FeatureGateway.start({
    provide: (ports) =>
      ports.provide(PEOPLE, { search: async () => [], person: async () => ({ conversations: ['c'] }) as never }),
    feed: feedOf(all),
    json: eventSerializer({
      details: async ({ id }) => all[Number(id) - 1]?.details,
      names: () => ({ nameOf: () => undefined }),
      offsetText: encodeOffset,
    }),
    settings: { rateLimitPerMinute: 100_000 },
  });
  gateway.search.search = async (_, { limit, cursor }) =>
    pageOf(
      all.map(({ details: __, ...message }) => ({ message, highlights: [] })),
      limit,
      cursor,
    );
  gateway.reader.listMessages = async ({ limit, cursor }: MessageQuery) => pageOf(all, limit, cursor);
  gateway.reader.message = (id: string) => all[Number(id) - 1];
}

interface Listed {
  readonly id: string;
  readonly details?: object;
  readonly details_left_out?: true;
}

/** Each list that carries messages, and where its items have the message. */
const LISTS: Readonly<Record<string, readonly [path: string, in_: (item: unknown) => Listed]>> = {
  messages: ['/api/v1/messages?limit=200&include=details', (item) => item as Listed],
  "a person's messages": ['/api/v1/people/p/messages?limit=200&include=details', (item) => item as Listed],
  search: ['/api/v1/search?q=b&limit=100&include=details', (item) => (item as { message: Listed }).message],
  events: ['/api/v1/events?after=0&limit=500&include=details', (item) => (item as { data: Listed }).data],
};

async function readPage(path: string, messageIn: (item: unknown) => Listed) {
  const { status, text, json, headers } = await gateway.get(path);
  expect(status).toBe(200);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_BYTES);
  const [, next] = /<([^>]+)>/.exec(String(headers.link ?? '')) ?? [];
  return { rows: (json as readonly unknown[]).map(messageIn), next: next && new URL(next, gateway.url + path) };
}

describe.each(Object.entries(LISTS))('a page of %s', (_, [path, messageIn]) => {
  test('that would be larger than 16 MB lists every row, the last ones without details', async () => {
    await start(messages(45, 10, 400 * KB));
    const { rows } = await readPage(path, messageIn);
    expect(rows.map(({ id }) => id)).toEqual(messages(45, 0, 0).map(({ id }) => id));
    const kept = rows.filter(({ details }) => details !== undefined).length;
    expect(kept).toBe(39);
    expect(rows.map(({ details_left_out: isLeftOut = false }) => isLeftOut)).toEqual(rows.map((__, at) => at >= kept));
  });

  test('that is too large without details ends early, and Link continues without a gap', async () => {
    await start(messages(30, 700 * KB, 100 * KB));
    const seen: string[] = [];
    for (let next: string | undefined = path; next !== undefined && seen.length < 30; ) {
      const page = await readPage(next, messageIn);
      expect(page.rows.length).toBeGreaterThan(7);
      seen.push(...page.rows.map(({ id }) => id));
      next = page.next && page.next.pathname + page.next.search;
    }
    expect(seen).toEqual(messages(30, 0, 0).map(({ id }) => id));
  });

  test('of up to 16 MB is whole', async () => {
    await start(messages(30, 10, 400 * KB));
    const { rows } = await readPage(path, messageIn);
    expect(rows.every((row) => row.details !== undefined && !('details_left_out' in row))).toBe(true);
  });
});

import { expect, test } from '@jest/globals';
import type { SearchHit } from '../../src/client/types.ts';
import type { Message } from '../../src/core/model/message.ts';
import type { Reach } from '../../src/core/model/port.ts';
import { SEARCH } from '../../src/features/search/port.ts';
import type { CallerSearch } from '../../src/features/search/ports.ts';
import type { SearchQuery } from '../../src/features/search/types.ts';
import { MESSAGE } from '../support/http-gateway.ts';

const QUERY: SearchQuery = { terms: [], excluded: [], senders: [], conversations: [], hasAttachment: false };
const MOVED: Message = { ...MESSAGE, id: '8', conversation_id: 'any;-;+15550199' };

/** The search of the owner, which finds two messages, and the queries that it got. */
function owner() {
  const asked: SearchQuery[] = [];
  const all: CallerSearch = {
    status: () => ({ isEnabled: true, isComplete: true, indexedRows: 2, totalRows: 2 }),
    async search(query) {
      asked.push(query);
      const hits: SearchHit[] = [MESSAGE, MOVED].map((message) => ({ message, highlights: [[0, 5]] }));
      return { items: hits, next: '7' };
    },
    chats: {
      conversations: () => [MESSAGE.conversation_id, MOVED.conversation_id],
      named: () => [[MOVED.conversation_id]],
      isAddress: () => true,
    },
  };
  return { all, asked };
}

/** The reach of a key that may read these conversations; undefined if its list allows all that are open. */
function reachOf(list: readonly string[] | undefined): Reach {
  const readable = (ids: readonly string[]) => ids.filter((id) => list === undefined || list.includes(id));
  return {
    keyId: 'k',
    has: () => true,
    mayRead: ({ conversation_id: id }) => readable([id]).length > 0,
    mayCallBack: () => false,
    noteCallback: () => undefined,
    lists: () => false,
    readable,
    conversations: () => list,
    closed: () => ['any;-;me@example.com'],
    read: (messages) =>
      new Map(
        messages
          .filter(({ conversation_id: id }) => readable([id]).length > 0)
          .map((message) => [message, { ...message, body: 'as the key sees it' }]),
      ),
  };
}

test('a key searches its conversations alone, and sees hits as it sees their messages', async () => {
  const { all, asked } = owner();
  const search = SEARCH.narrow(all, reachOf([MESSAGE.conversation_id]));
  const found = await search?.search({ ...QUERY, conversations: [['x']] }, { limit: 10 });
  expect(asked.map(({ conversations }) => conversations)).toEqual([[['x'], [MESSAGE.conversation_id]]]);
  expect(found).toEqual({
    items: [{ message: { ...MESSAGE, body: 'as the key sees it' }, highlights: [[0, 5]] }],
    next: '7',
  });
});

test('the search of a key ignores what no list opens', async () => {
  const { all, asked } = owner();
  await SEARCH.narrow(all, reachOf(undefined))?.search(QUERY, { limit: 10 });
  expect(asked).toEqual([{ ...QUERY, without: ['any;-;me@example.com'] }]);
});

test('a key that may read nothing searches nothing', async () => {
  const { all, asked } = owner();
  expect(await SEARCH.narrow(all, reachOf([]))?.search(QUERY, { limit: 10 })).toEqual({ items: [] });
  expect(asked).toEqual([]);
});

test('a key names only conversations and senders that it may read', () => {
  const { all } = owner();
  const chats = (list: readonly string[] | undefined) => SEARCH.narrow(all, reachOf(list))?.chats;
  const listed = chats([MESSAGE.conversation_id]);
  expect([listed?.conversations('x'), listed?.named('x'), listed?.isAddress('x')]).toEqual([
    [MESSAGE.conversation_id],
    [],
    true,
  ]);
  expect([chats([])?.isAddress('x'), chats(undefined)?.isAddress('x')]).toEqual([false, true]);
});

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { namedReader } from '../../src/core/model/named-reader.ts';
import type { NameSource } from '../../src/core/model/ports/names-ports.ts';
import type { MessageReader } from '../../src/core/model/ports/reading-ports.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MANY = 5000;
const NAMES: Readonly<Record<string, string>> = { '+15550100': 'José Silva', '+15550101': 'Ben Okafor' };

const folder = temporaryFolder();
let close = (): void => {};
let reader: MessageReader;
beforeAll(() => {
  const fixture = new ChatFixture(join(folder, 'chat.db'));
  fixture.transaction(() => {
    for (let n = 0; n < MANY; n += 1) {
      const address = n < 2 ? `+1555010${n}` : `+1200${4_300_000 + n}`;
      const chat = fixture.chat(`any;-;${address}`, [address]);
      fixture.message({ chat, text: 'Hello', date: appleNs('2026-01-01T00:00:00Z', n) });
    }
  });
  const group = fixture.chat('any;+;chat1', ['+15550100'], { display_name: 'Garden Club' });
  fixture.message({ chat: group, text: 'Hello', date: appleNs('2026-01-01T00:00:00Z') });
  const connection = new Connection({ path: fixture.path, home: folder, log: collectingLog() });
  close = () => {
    fixture.close();
    connection.close();
  };
  const naming: NameSource = {
    ready: async () => {},
    names: { nameOf: (address) => NAMES[address] },
    named: async () => [],
  };
  reader = namedReader(new ChatReader(connection), naming);
});

afterAll(() => close());

async function find(q: string): Promise<readonly string[]> {
  return (await reader.listConversations({ limit: 10, offset: 0, q })).items.map(({ id }) => id);
}

describe('a search for conversations among 5,000', () => {
  test.each([
    ['jose', ['any;-;+15550100', 'any;+;chat1']],
    ['Silva José', ['any;-;+15550100', 'any;+;chat1']],
    ['okaf', ['any;-;+15550101']],
    ['2004304321', ['any;-;+12004304321']],
    ['(200) 430-4321', ['any;-;+12004304321']],
    ['garden', ['any;+;chat1']],
    ['any;+;chat1', ['any;+;chat1']],
    // The beginning of an id is no word that anybody knows.
    ['ny', []],
    ['nobody at all', []],
  ])('finds %s', async (q, ids) => {
    expect([...(await find(q))].sort()).toEqual([...ids].sort());
  });

  test('without a word finds every conversation', async () => {
    expect(await find('  ')).toHaveLength(10);
  });

  test('has pages that repeat and miss nothing, newest first', async () => {
    const ids = (await reader.chats()).map(({ id }) => id).filter((id) => id.endsWith('7'));
    const found: string[] = [];
    let cursor: string | undefined = '';
    while (cursor !== undefined) {
      const page = await reader.listConversations({ limit: 100, offset: 0, cursor, ids });
      found.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    }
    expect(found).toHaveLength(500);
    expect(new Set(found)).toEqual(new Set(ids));
    expect(found[0]).toBe('any;-;+12004304997');
    const { items } = await reader.listConversations({ limit: 3, offset: 2, ids });
    expect(items.map(({ id }) => id)).toEqual(found.slice(2, 5));
  });
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { MACOS_VERSIONS } from '../../src/features/simulator/macos-versions.ts';
import { Messages } from '../../src/features/simulator/simulated-messages.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const CLEO = '+15550102';
const CHAT = 'any;+;chat100';
const include = includeSet(['details']);
const root = temporaryFolder();
let homes = 0;
let clock: FakeClock;
let mac: Messages;
let reader: ChatReader;

function open(version: (typeof MACOS_VERSIONS)[number] = '26'): void {
  homes += 1;
  const home = join(root, `home-${homes}`);
  mkdirSync(join(home, 'Library/Messages'), { recursive: true });
  clock = new FakeClock(Date.UTC(2026, 10, 23, 12));
  mac = new Messages({ home, version, clock });
  reader = new ChatReader(new Connection({ path: mac.path, home, log: collectingLog() }));
}
beforeEach(() => open());
afterEach(() => mac.close());

describe('a chat that is read on another device', () => {
  const unread = async () => (await reader.listConversations({ limit: 1, offset: 0, include })).items[0]?.details;
  const receive = async (text: string) => {
    await clock.advance(60_000);
    return (await mac.perform({ do: 'receive', from: ANA, text })) as { readonly row: number };
  };
  const guid = () => String(mac.database.sqlite.prepare('SELECT guid FROM chat').get()?.[0]);

  // Source: Omaimsg, issue 30: only the mark of the chat moved, and every row stayed unread.
  test.each(MACOS_VERSIONS)(
    'has no unread messages, although its rows stay unread, until one comes (macOS %s)',
    async (version) => {
      mac.close();
      open(version);
      const { row } = await receive('Tea?');
      await receive('Or coffee?');
      expect((await unread())?.unread_count).toBe(2);
      await clock.advance(60_000);
      await mac.perform({ do: 'read_elsewhere', chat: guid() });
      expect((await unread())?.unread_count).toBe(0);
      const stored = mac.database.sqlite.prepare('SELECT is_read, date_read FROM message WHERE ROWID = ?').get(row);
      expect(stored?.map(Number)).toEqual([0, 0]);
      expect((await reader.message(String(row)))?.status).toBe('delivered');
      await receive('Tea it is');
      expect((await unread())?.unread_count).toBe(1);
      await clock.advance(60_000);
      await mac.perform({ do: 'open_chat', chat: guid() });
      expect((await unread())?.unread_count).toBe(0);
    },
  );

  test('must be there', async () => {
    await expect(mac.perform({ do: 'read_elsewhere', chat: CHAT })).rejects.toThrow(`there is no chat ${CHAT}`);
  });
});

describe('a member with a new address', () => {
  // Source: imessage-exporter, pull request 683: a removal and an addition, both by the new address, at the same time.
  test('is a removal and an addition at one time, which are reported as one change', async () => {
    await mac.perform({ do: 'group', identifier: 'chat100', participants: [ANA, BEN], name: 'Trip' });
    const { rows } = (await mac.perform({ do: 'change_address', chat: CHAT, from: BEN, to: CLEO })) as {
      readonly rows: readonly number[];
    };
    const sql = `SELECT m.item_type, m.group_action_type, h.id, o.id, m.date FROM message m
      JOIN handle h ON h.ROWID = m.handle_id JOIN handle o ON o.ROWID = m.other_handle WHERE m.ROWID = ?`;
    const stored = rows.map((row) => mac.database.sqlite.prepare(sql).get(row) ?? []);
    expect(stored.map((row) => row.slice(0, 4))).toEqual([
      [1, 1, CLEO, BEN],
      [1, 0, CLEO, CLEO],
    ]);
    expect(stored[0]?.[4]).toEqual(stored[1]?.[4]);
    const told = await Promise.all(rows.map((row) => reader.message(String(row), { include })));
    expect(told).toMatchObject([
      { conversation_id: CHAT, details: { group_event: { type: 'address_changed', who: BEN } } },
      { conversation_id: CHAT, details: { group_event: { type: 'address_changed', who: CLEO } } },
    ]);
    expect(told.map((message) => message?.details?.sentence)).toEqual([
      `${CLEO} no longer uses ${BEN}.`,
      `${CLEO} changed their phone number.`,
    ]);
  });

  test('must be in a chat that exists', async () => {
    const change = { do: 'change_address', chat: CHAT, from: BEN, to: CLEO } as const;
    await expect(mac.perform(change)).rejects.toThrow(`there is no chat ${CHAT}`);
  });
});

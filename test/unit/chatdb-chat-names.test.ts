import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { chatDbNames, chatSendLookup } from '../../src/core/chatdb/lookups.ts';
import type { ChatNames } from '../../src/core/model/ports/chat-names-ports.ts';
import { ChatFixture, type Schema } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const toClose: (() => void)[] = [];
afterAll(() => {
  for (const close of toClose.reverse()) close();
});

function namesOf(schema: Schema, fill: (fixture: ChatFixture) => void): ChatNames {
  const fixture = new ChatFixture(join(folder, `${schema}.db`), schema);
  fill(fixture);
  const connection = new Connection({ path: fixture.path, home: folder, log: collectingLog() });
  toClose.push(
    () => fixture.close(),
    () => connection.close(),
  );
  return chatDbNames(connection);
}

describe('names in chat.db', () => {
  const names = namesOf('macos-13', (fixture) => {
    fixture.chat('SMS;-;+15550100');
    fixture.chat('iMessage;-;+15550100', [], { display_name: 'Café Zürich' });
    fixture.chat('iMessage;+;chat42', [], { display_name: 'Café Zürich ' });
    fixture.chat('iMessage;+;chat43', [], { display_name: 'cafe zurich' });
    fixture.chat('iMessage;+;chat44', [], { display_name: '' });
    fixture.handle('PARCELS');
  });

  test('an address means all its conversations, an id the one that it names', () => {
    expect([...names.conversations('+15550100')].sort()).toEqual(['SMS;-;+15550100', 'iMessage;-;+15550100']);
    expect(names.conversations('SMS;-;+15550100')).toEqual(['SMS;-;+15550100']);
    expect(names.conversations('any;-;+15550100')).toHaveLength(1);
    expect(names.conversations('chat42')).toEqual(['iMessage;+;chat42']);
    expect(names.conversations('nobody')).toEqual([]);
  });

  test('a display name is found whatever its case and accents', () => {
    expect(names.named('CAFE Zurich')).toEqual([['iMessage;+;chat42'], ['iMessage;+;chat43']]);
    expect(names.named('')).toEqual([]);
    expect(names.named('cafe')).toEqual([]);
  });

  test('a sender without a number is an address', () => {
    expect([names.isAddress('parcels'), names.isAddress('parcel')]).toEqual([true, false]);
  });
});

test('without display names in the schema nothing has one', () => {
  const names = namesOf('bare', (fixture) => fixture.chat('any;-;x'));
  expect(names.named('x')).toEqual([]);
  expect(names.conversations('x')).toEqual(['any;-;x']);
});

test('the newest service of an address is that of an own message that went out', () => {
  const fixture = new ChatFixture(join(folder, 'services.db'), 'macos-26');
  const connection = new Connection({ path: fixture.path, home: folder, log: collectingLog() });
  toClose.push(
    () => fixture.close(),
    () => connection.close(),
  );
  const lookup = chatSendLookup(connection);
  const ana = fixture.handle('+15550100');
  const other = fixture.handle('+15550101');
  const own = (columns: object) => fixture.message({ handle_id: ana, is_from_me: 1, ...columns });
  expect(lookup.newestServiceTo('+15550100')).toBeUndefined();
  own({ date: 1, service: 'SMS', is_sent: 1 });
  expect(lookup.newestServiceTo('+15550100')).toBe('SMS');
  own({ date: 2, service: 'RCS', is_sent: 1, is_delivered: 1 });
  own({ date: 3, service: 'iMessage', is_sent: 1 });
  own({ date: 4, service: 'SMS', is_sent: 1, error: 22 });
  own({ date: 5, service: 'SMS', is_from_me: 0 });
  own({ date: 6, service: 'SMS', is_sent: 1, handle_id: other });
  expect(lookup.newestServiceTo('+15550100')).toBe('RCS');
});

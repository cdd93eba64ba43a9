import { describe, expect, test } from '@jest/globals';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { MACOS_SCHEMAS } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const ANA = '+15550100';
const BEN = '+15550101';

describe('the conversations as a search sees them', () => {
  test.each(MACOS_SCHEMAS)('have their members, and are groups by their style (%s)', async (schema) => {
    const { fixture, connection } = databases.open(schema);
    const chat = fixture.chat('iMessage;-;+15550100', [ANA]);
    // The same address on another service.
    fixture.participant(chat, fixture.handle(ANA, 'SMS'));
    fixture.chat('iMessage;+;chat1', [ANA, BEN], { display_name: 'Garden' });
    // The style decides, not the id.
    fixture.chat('iMessage;-;chat2', [ANA, BEN], { style: 43 });
    fixture.chat('iMessage;+;chat3', [BEN], { style: 45, display_name: 'not shown' });
    fixture.chat('iMessage;-;+15550102');
    fixture.chat('iMessage;+;chat4', [BEN], { style: null });
    expect(await new ChatReader(connection).chats()).toEqual([
      { id: 'iMessage;-;+15550100', isGroup: false, name: '', participants: [ANA] },
      { id: 'iMessage;+;chat1', isGroup: true, name: 'Garden', participants: [ANA, BEN] },
      { id: 'iMessage;-;chat2', isGroup: true, name: '', participants: [ANA, BEN] },
      { id: 'iMessage;+;chat3', isGroup: false, name: '', participants: [BEN] },
      { id: 'iMessage;-;+15550102', isGroup: false, name: '', participants: [] },
      { id: 'iMessage;+;chat4', isGroup: true, name: '', participants: [BEN] },
    ]);
  });

  test('of a bare database have no members, and two rows with one id are one', async () => {
    const { fixture, connection } = databases.open('bare');
    for (const guid of ['any;-;+15550100', 'any;+;chat1', 'odd', 'any;-;+15550100']) fixture.chat(guid);
    const chats = await new ChatReader(connection).chats();
    expect(chats.map(({ id, isGroup, participants }) => [id, isGroup, participants])).toEqual([
      ['any;-;+15550100', false, []],
      ['any;+;chat1', true, []],
      ['odd', false, []],
    ]);
  });

  test('are read again after each commit', async () => {
    const { fixture, connection } = databases.open();
    const reader = new ChatReader(connection);
    const before = await reader.chats();
    expect(await reader.chats()).toBe(before);
    fixture.chat('any;-;a', [ANA]);
    expect(await reader.chats()).not.toBe(before);
  });
});

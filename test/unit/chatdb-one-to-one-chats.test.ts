import { describe, expect, test } from '@jest/globals';
import { oneToOneChats } from '../../src/core/chatdb/one-to-one-chats.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { MACOS_SCHEMAS } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const ANA = '+15550100';
const BEN = '+15550101';

describe('one-to-one conversations', () => {
  test.each(MACOS_SCHEMAS)('have their members, and no group is among them (%s)', async (schema) => {
    const { fixture, connection } = databases.open(schema);
    const chat = fixture.chat('iMessage;-;+15550100', [ANA]);
    // The same address on another service.
    fixture.participant(chat, fixture.handle(ANA, 'SMS'));
    fixture.chat('SMS;-;+15550100', [ANA]);
    fixture.chat('iMessage;+;chat1', [ANA, BEN]);
    // The style decides, not the id.
    fixture.chat('iMessage;-;chat2', [ANA, BEN], { style: 43 });
    fixture.chat('iMessage;+;chat3', [BEN], { style: 45 });
    fixture.chat('iMessage;-;+15550102');
    fixture.chat('iMessage;+;chat4', [BEN], { style: null });
    expect(await oneToOneChats(connection, undefined).list()).toEqual([
      { id: 'iMessage;-;+15550100', members: [ANA] },
      { id: 'SMS;-;+15550100', members: [ANA] },
      { id: 'iMessage;+;chat3', members: [BEN] },
      { id: 'iMessage;-;+15550102', members: ['+15550102'] },
    ]);
  });

  test('of a bare database have the address in their id', async () => {
    const { fixture, connection } = databases.open('bare');
    // Two rows with one id are one conversation.
    for (const guid of ['any;-;+15550100', 'any;+;chat1', 'odd', '', 'any;-;+15550100']) fixture.chat(guid);
    fixture.insert('chat', { guid: null });
    expect(await oneToOneChats(connection, undefined).list()).toEqual([
      { id: 'any;-;+15550100', members: [ANA] },
      { id: 'odd', members: [] },
    ]);
  });

  test('have another version after each commit', () => {
    const { fixture, connection } = databases.open();
    const chats = oneToOneChats(connection, undefined);
    const before = chats.version();
    expect(chats.version()).toBe(before);
    fixture.chat('any;-;a', [ANA]);
    expect(chats.version()).not.toBe(before);
  });
});

import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Message } from '../../src/domain/message.ts';
import { ArchiveSource } from '../../src/mac/chatdb/archive-source.ts';
import { Connection } from '../../src/mac/chatdb/connection.ts';
import { withDetails } from '../../src/mac/chatdb/details.ts';
import { reactionTargets } from '../../src/mac/chatdb/queries.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const path = join(temporaryFolder(), 'Messages', 'chat.db');

test('every reaction is archived, whatever form names its message, and among thousands', () => {
  const fixture = new ChatFixture(path);
  const chat = fixture.chat('iMessage;-;+15550100', ['+15550100']);
  const handle_id = fixture.handle('+15550100');
  const add = (columns: Record<string, string | number>): number => fixture.message({ chat, handle_id, ...columns });
  // Some look like a form that refers to another message.
  const guids = [...Array.from({ length: 100 }, (_, n) => `guid-${n}`), 'bp:guid-0', 'p:0/guid-1', 'größe', '𝒢'];
  fixture.transaction(() => {
    for (const guid of [...guids, 'alone']) add({ guid, text: guid });
    for (const [n, guid] of guids.entries()) {
      const forms = reactionTargets(guid);
      for (const form of n % 2 === 0 ? forms : [forms[n % forms.length] ?? '']) {
        add({ text: 'Loved', associated_message_type: 2000 + (n % 6), associated_message_guid: form });
      }
    }
  });
  const connection = new Connection({ path, home: '/Users/me', log: collectingLog() });
  const source = new ArchiveSource(connection);
  const read = [...source.entries(source.rows(0, source.highestRowId(), 10_000))].flat();
  const messages = read.map(({ event }) => event.data).filter((data): data is Message => 'body' in data);
  expect(messages).toHaveLength(guids.length + 1);
  connection.read((snapshot) => {
    for (const message of messages) {
      expect(message.details?.reactions).toEqual(withDetails(snapshot, message).details?.reactions);
      expect([message.guid, message.details?.reactions.length]).toEqual([
        message.guid,
        message.guid === 'alone' ? 0 : 1,
      ]);
    }
  });
  connection.close();
  fixture.close();
});

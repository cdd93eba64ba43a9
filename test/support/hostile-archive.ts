import { join } from 'node:path';
import { appleNs, ChatFixture } from './chat-fixture.ts';

/** Breaks out of elements, attributes and comments unless it is escaped. */
export const EVIL = `"'><img src=x onerror=alert(1)><script>alert(1)</script></style>&amp;\u0000<!--`;

/** Creates a conversation in which everything that a person can write is an attack. */
export function hostileChat(folder: string): {
  chatDb: string;
  fixture: ChatFixture;
  write: (text: string, iso: string) => number;
} {
  const chatDb = join(folder, 'Messages', 'chat.db');
  const fixture = new ChatFixture(chatDb);
  const chat = fixture.chat('any;+;chat1', [EVIL, '+15550101'], { display_name: EVIL });
  const write = (text: string, iso: string): number =>
    fixture.message({
      chat,
      text,
      date: appleNs(iso),
      handle_id: fixture.handle(EVIL),
      guid: `${EVIL}${text.slice(0, 9)}`,
    });
  const row = write(EVIL, '2026-05-01T10:00:00Z');
  write('javascript:alert(1) https://example.com/"onclick="alert(1) http://example.com', '2026-05-01T11:00:00Z');
  const reply = write('a reply', '2026-05-02T00:00:00Z');
  fixture.sqlite.exec(
    `UPDATE message SET thread_originator_guid = (SELECT guid FROM message WHERE ROWID = ${row}) WHERE ROWID = ${reply}`,
  );
  fixture.attach(row, '/nowhere/a.html', { transfer_name: EVIL, mime_type: 'text/html' });
  fixture.message({
    chat,
    associated_message_type: 2006,
    associated_message_emoji: EVIL,
    associated_message_guid: fixture.guid(reply),
  });
  return { chatDb, fixture, write };
}

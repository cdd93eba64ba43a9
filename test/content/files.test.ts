import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { contentDecoder } from '../../src/features/content/rows.ts';
import { chatDatabases } from '../support/chat-databases.ts';

const databases = chatDatabases();
const path = join(databases.folder, 'Library/Messages/chat.db');
const { fixture, connection } = databases.open('macos-26', path, 'reactions', [], [contentDecoder]);

test('a contact is read from a card whose type is only its uti', () => {
  const card = join(dirname(path), 'Attachments/5/Ana');
  mkdirSync(dirname(card), { recursive: true });
  writeFileSync(card, 'BEGIN:VCARD\nVERSION:3.0\nFN:Ana Silva\nEND:VCARD\n');
  const row = fixture.message({ text: '\uFFFC' });
  fixture.attach(row, card, { uti: 'public.vcard', mime_type: null });
  const message = new ListReader(connection).message(String(row), { include: includeSet(['details']) });
  expect(message?.details?.attachments).toMatchObject([{ mime_type: 'text/vcard', contact: { name: 'Ana Silva' } }]);
});

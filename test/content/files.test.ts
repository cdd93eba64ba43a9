import { linkSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { contentDecoder } from '../../src/features/content/rows.ts';
import { stickerEffectOf } from '../../src/features/content/sticker.ts';
import { chatDatabases } from '../support/chat-databases.ts';

const databases = chatDatabases();
const path = join(databases.folder, 'Library/Messages/chat.db');
const { fixture, connection } = databases.open('macos-26', path, 'reactions', [], [contentDecoder]);

test('a contact is read from a card whose type is only its uti', () => {
  const card = join(dirname(path), 'Attachments/5/Ana');
  mkdirSync(dirname(card), { recursive: true });
  writeFileSync(card, 'BEGIN:VCARD\nVERSION:3.0\nFN:Ana Silva\nEND:VCARD\n');
  const row = fixture.message({ text: '\uFFFC' });
  fixture.attach(row, card, { uti: 'public.vcard', mime_type: null, total_bytes: -1 });
  const message = new ListReader(connection).message(String(row), { include: includeSet(['details']) });
  expect(message?.details?.attachments).toMatchObject([
    { mime_type: 'text/vcard', bytes: null, contact: { name: 'Ana Silva' } },
  ]);
});

const detailsOf = (row: number) =>
  new ListReader(connection).message(String(row), { include: includeSet(['details']) })?.details;

/** Writes a contact's card of this many bytes. */
function newCard(name: string, bytes = 60): string {
  const card = join(dirname(path), 'Attachments/6', name);
  mkdirSync(dirname(card), { recursive: true });
  writeFileSync(card, 'BEGIN:VCARD\nFN:Ana Silva\nEND:VCARD\n'.padEnd(bytes));
  return card;
}

test('no card is read from a file that has a second name, or whose recorded size is too large', () => {
  const [linked, large] = [newCard('linked.vcf'), newCard('large.vcf')];
  linkSync(linked, `${linked}-too`);
  const row = fixture.message({ text: '\uFFFC\uFFFC' });
  fixture.attach(row, linked, { mime_type: 'text/vcard' });
  fixture.attach(row, large, { mime_type: 'text/vcard', total_bytes: 65_537 });
  expect(detailsOf(row)?.attachments.map(({ contact }) => contact)).toEqual([undefined, undefined]);
});

test('files are read up to 16 MiB at once, and those that are only in iCloud not at all', () => {
  const [here, away] = [newCard('here.vcf', 65_536), newCard('away.vcf', 0)];
  truncateSync(away, 0);
  truncateSync(away, 65_536);
  const leftOut = [here, away].map((card) => {
    const row = fixture.message({ text: '\uFFFC' });
    for (let file = 0; file < 257; file += 1) fixture.attach(row, card, { mime_type: 'text/vcard' });
    return detailsOf(row)?.content_left_out;
  });
  expect(leftOut).toEqual([true, undefined]);
});

test('a picture that says it has no sticker effect has none', () => {
  expect(stickerEffectOf(Buffer.from('stickerEffect:type="none"'))).toBeUndefined();
});

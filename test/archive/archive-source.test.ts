import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { withDetails } from '../../src/core/chatdb/message-details.ts';
import { reactionTargets, targetOf } from '../../src/core/chatdb/reaction-target.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import type { Message } from '../../src/core/model/message.ts';
import { ArchiveSource } from '../../src/features/archive/archive-source.ts';
import { DECODERS } from '../../src/features/rows.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { contentVectors, storedValue } from '../support/content-vectors.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();

/** Returns the number of parts that these references name, where one without a part names the first. */
const partsOf = (targets: readonly string[]): number => new Set(targets.map((one) => targetOf(one).part ?? 0)).size;

test.each(['macos-26', 'utf-16'] as const)(
  'on %s every reaction is archived, whatever form names its message, and among thousands',
  (schema) => {
    const path = join(root, schema, 'chat.db');
    const fixture = new ChatFixture(path, schema);
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
    const connection = new Connection({ path, home: '/Users/me', log: collectingLog(), decoders: DECODERS });
    const source = new ArchiveSource(connection);
    const read = [...source.entries(source.rows(0, source.highestRowId(), 10_000))].flat();
    const messages = read.map(({ event }) => event.data).filter((data): data is Message => 'body' in data);
    expect(messages).toHaveLength(guids.length + 1);
    connection.read((snapshot) => {
      for (const message of messages) {
        expect(message.details?.reactions).toEqual(withDetails(snapshot, message).details?.reactions);
        expect([message.guid, message.details?.reactions.length]).toEqual([
          message.guid,
          // A message that all forms name has one reaction for each part.
          message.guid === 'alone' ? 0 : guids.indexOf(message.guid) % 2 === 0 ? partsOf(reactionTargets('')) : 1,
        ]);
      }
    });
    connection.close();
    fixture.close();
  },
);

test('a list that has used up its decoding marks the next sound message, which is whole when read alone', async () => {
  const large = join(root, 'large', 'chat.db');
  const fixture = new ChatFixture(large);
  const link = contentVectors.find(({ name }) => name === 'page')?.columns ?? {};
  const columns = Object.fromEntries(Object.entries(link).map(([name, value]) => [name, storedValue(value)]));
  const sound = { balloon_bundle_id: columns.balloon_bundle_id ?? '', payload_data: columns.payload_data ?? '' };
  const add = (text: string, content: typeof sound): number => fixture.message({ text, ...content });
  const before = add('https://example.org/p', sound);
  for (let n = 0; n < 17; n += 1) {
    fixture.attach(fixture.message({ text: '\ufffc' }), '/nowhere/a.caf', { user_info: Buffer.alloc(1_048_576) });
  }
  // The newest are read first: sixteen of the largest, then less and less, until nothing fits.
  const sizes = [...Array.from({ length: 12 }, (_, n) => 256 << n), ...Array.from({ length: 16 }, () => 1_048_576)];
  for (const size of sizes) add(`hostile ${size}`, { ...sound, payload_data: Buffer.alloc(size) });
  add('https://example.org/p', sound);
  const connection = new Connection({ path: large, home: '/Users/me', log: collectingLog(), decoders: DECODERS });
  const include = includeSet(['details']);
  const reader = new ChatReader(connection);
  const { items } = await reader.listMessages({ limit: 200, offset: 0, order: 'desc', include });
  const [last, ...others] = items.map(({ details }) => details);
  const first = others.pop();
  expect(last).toMatchObject({ link: { title: 'A page' } });
  for (const one of others.slice(0, 15)) expect(one).toMatchObject({ undecoded: ['payload_data'] });
  expect(first).toMatchObject({ kind: 'link', content_left_out: true });
  expect(first).not.toHaveProperty('undecoded');
  const alone = (await reader.message(String(before), { include }))?.details;
  expect(alone).toMatchObject({ link: { title: 'A page' } });
  const source = new ArchiveSource(connection);
  for (const { event } of [...source.entries(source.rows(0, source.highestRowId(), 10_000))].flat()) {
    expect(event.data.details).not.toHaveProperty('content_left_out');
  }
  connection.close();
  fixture.close();
});

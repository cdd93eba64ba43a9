import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { effectOf } from '../../src/core/chatdb/content/group-event.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { storedExtension } from '../../src/features/archive/stored-files.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { sources } from '../support/imports.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Names that every plain object of JavaScript answers to. */
const NAMES = Object.getOwnPropertyNames(Object.prototype);
const SCREEN = 'com.apple.messages.effect.CK';

describe('a name of JavaScript that a sender wrote', () => {
  test.each(NAMES)('%s as an effect, an app, a type or a file is one that Postern does not know', async (name) => {
    const fixture = new ChatFixture(join(temporaryFolder(), name, 'chat.db'));
    const chat = fixture.chat('any;-;+15550100', ['+15550100']);
    const columns = [
      { expressive_send_style_id: `${SCREEN}${name}Effect` },
      { expressive_send_style_id: `com.apple.MobileSMS.expressivesend.${name}` },
      { balloon_bundle_id: name, payload_data: Buffer.from('x') },
      { associated_message_type: 2006, associated_message_emoji: name, associated_message_guid: name },
      { thread_originator_guid: name, guid: name },
    ];
    for (const row of columns) fixture.message({ chat, text: 'hello', ...row });
    const message = fixture.message({ chat, text: '\uFFFC' });
    fixture.attach(message, `/tmp/a.${name}`, { mime_type: name, uti: name, transfer_name: `a.${name}` });
    fixture.attach(message, '/tmp/a', { mime_type: name });
    const connection = new Connection({ path: fixture.path, home: '/Users/ada', log: collectingLog() });
    const list = await new ChatReader(connection).listMessages({
      order: 'asc',
      limit: 10,
      offset: 0,
      include: includeSet(['details']),
    });
    // The reader thread passes the list on.
    expect(structuredClone(list.items)).toHaveLength(5);
    expect(list.items.map(({ details }) => [details?.kind, details?.effect?.name])).toEqual([
      ['message', 'other'],
      ['message', 'other'],
      ['app', undefined],
      ['message', undefined],
      ['message', undefined],
    ]);
    connection.close();
    fixture.close();
  });

  test.each(NAMES)('%s is no effect and no extension', (name) => {
    expect(effectOf(`${SCREEN}${name}`)).toMatchObject({ name: 'other', on: 'screen' });
    expect(storedExtension({ name: 'a', mime_type: name })).toBe('bin');
  });
});

test('a table that texts are looked up in has no names but its own', () => {
  const found = sources('src')
    .filter((path) => !/features\/console\/|fleet/.test(path))
    .flatMap((path) =>
      [
        ...readFileSync(path, 'utf8').matchAll(
          /^(?:export )?const (\w+): Readonly<Record<string,.*> = (?!lookupTable\()/gm,
        ),
      ].map(([, name]) => `${path}: ${name}`),
    );
  expect(found).toEqual([]);
});

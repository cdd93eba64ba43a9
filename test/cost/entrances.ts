import { Readable } from 'node:stream';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { fitted, oneLine } from '../../src/core/cli/output/text.ts';
import { checkConfigText } from '../../src/core/config/config-file.ts';
import { fileNameIn } from '../../src/core/http/attachments/disposition.ts';
import { readForm } from '../../src/core/http/attachments/multipart.ts';
import { plainText } from '../../src/core/http/messages/plain-text.ts';
import { safeFileName } from '../../src/core/model/file-name.ts';
import type { Message } from '../../src/core/model/message.ts';
import { visible } from '../../src/core/model/visible.ts';
import { redact } from '../../src/core/runtime/redaction.ts';
import { contentHash } from '../../src/core/sender/content-hash.ts';
import { indented, shortLine as mcpLine } from '../../src/core/tools/visible.ts';
import { ContactBook } from '../../src/features/contacts/contact-book.ts';
import { searchContacts } from '../../src/features/contacts/contact-search.ts';
import { Envelope, memberKeys, newFleetKey } from '../../src/features/fleet/protocol/envelope.ts';
import { openEvent } from '../../src/features/fleet/protocol/event.ts';
import { parseMembership } from '../../src/features/fleet/protocol/membership.ts';
import { documentOf } from '../../src/features/search/index/document.ts';
import { SearchedText, toPattern } from '../../src/features/search/index/searched-text.ts';
import { parseSearch } from '../../src/features/search/language/search-text.ts';
import { sequenceOf } from '../../src/features/search/query/expression.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { MESSAGE } from '../support/http-gateway.ts';

/** A way in which other people's text enters. */
export interface Entrance {
  readonly name: string;
  /** Maximum length in UTF-16 units; longer input is refused unread. */
  readonly limit: number;
  /** Valid inputs, from which texts are made that are almost valid. */
  readonly wanted: readonly [string, ...string[]];
  readonly take: (text: string) => unknown;
}

export const ANY = 256 * 1024;
/** Bytes of the request line and headers. */
export const HEADER = 15 * 1024;
const ENVIRONMENT = { env: {}, platform: 'darwin', home: '/Users/ada' } as const;
const WORDS = sequenceOf({ kind: 'phrase', text: 'ab а\u0301 漢 a' });

/** Replaces what a client cannot put into a header on the wire. */
export const inHeader = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[^\x20-\x7e\x80-\xff]/g, '?');
const ignored = (run: () => unknown): unknown => {
  try {
    return run();
  } catch {
    return undefined;
  }
};

/** Entrances that are functions. */
export function functions(): readonly Entrance[] {
  const message = (body: string): Message => ({ ...MESSAGE, body });
  const sealing = new Envelope(memberKeys([newFleetKey()]));
  return [
    { name: 'a text to index', limit: 65_536, wanted: ['naïve'], take: (text) => documentOf(message(text)) },
    {
      name: 'a text to look through',
      limit: 65_536,
      wanted: ['ab á'],
      take: (text) => WORDS && new SearchedText(text).highlights(toPattern(WORDS)),
    },
    {
      name: 'a query of a search',
      limit: ANY,
      wanted: ['from:"Ana" in:b "see you" -a*'],
      take: (text) => parseSearch(text),
    },
    {
      name: 'a body in Markdown',
      limit: 20_000,
      wanted: ['[a](b) **c** `d`', '- a\n  1. > b', '|a|\n|-|\n|b|', '![a][b]\n\n[b]: c', '<!-- a --> <b>&amp;'],
      take: (text) => ignored(() => plainText(text)),
    },
    {
      name: 'a text to compare with a sent one',
      limit: ANY,
      wanted: ['\uFFFC\n'],
      take: (text) => contentHash({ body: text }),
    },
    { name: 'a name of a file', limit: ANY, wanted: ['../a.b'], take: safeFileName },
    { name: 'a text of an approval', limit: ANY, wanted: ['a'], take: visible },
    { name: 'a text for a model', limit: ANY, wanted: ['a\r\n'], take: (text) => [indented(text), mcpLine(text)] },
    { name: 'a line of a terminal', limit: ANY, wanted: ['a \n'], take: (text) => fitted(oneLine(text), 80) },
    {
      name: 'fields of a log line',
      limit: ANY,
      wanted: ['a@example.org +15550100'],
      take: (text) => redact({ text: 1, reason: text, url: text, sender: text }, { isVerbose: false } as never),
    },
    {
      name: 'Content-Disposition',
      limit: HEADER,
      wanted: [`attachment; filename="a\\"b"; filename*=UTF-8''a%20b`],
      take: (text) => fileNameIn(`attachment; ${inHeader(text)}`),
    },
    {
      name: 'config.toml',
      limit: 65_536,
      wanted: ['[auth]\napi_key = "a"\n', "[server]\nport = 1\na = '''", 'a.b.c = [{ a = 1 }]\n'],
      take: (text) => checkConfigText(text, '/Users/ada', ENVIRONMENT as never),
    },
    // Longer names in the files are ignored.
    { name: 'a person of the Address Book', limit: 400, wanted: ['+1 (555) 0100 ext. 1'], take: takePerson },
    {
      name: 'an event of a fleet',
      limit: ANY,
      wanted: ['{"event":{"type":"a","data":{}},"machine":"a","row":1,"atMs":1}'],
      take: (text) => ignored(() => openEvent(sealing, 'ev.m1.a', sealing.seal('m1', 'ev.m1.a', Buffer.from(text)))),
    },
    {
      name: 'an envelope of a fleet',
      limit: ANY,
      wanted: ['\0'],
      take: (text) => ignored(() => sealing.open('m1', 'a', Buffer.from(text))),
    },
    {
      name: 'the line of a fleet',
      limit: ANY,
      wanted: ['postern-fleet:'],
      take: (text) => ignored(() => parseMembership(text)),
    },
    {
      name: 'a form',
      limit: ANY,
      wanted: ['--b\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n', '\r\n--b', '--b--'],
      take: takeForm,
    },
    {
      name: 'a name in a form',
      limit: HEADER,
      wanted: ['a"; filename="b'],
      take: (text) =>
        takeForm(`--b\r\nContent-Disposition: form-data; name="a"; filename="${text}\r\n\r\na\r\n--b--\r\n`),
    },
  ];
}

function takePerson(text: string): Promise<unknown> {
  const book = new ContactBook('1');
  const card = { key: 1, first: text, last: text, nickname: text, organization: text, link: text };
  book.add(card, [text, text.slice(0, 300)], text);
  return searchContacts(book.contacts, text.slice(0, 1000), 10);
}

function takeForm(text: string): Promise<unknown> {
  return readForm(
    { 'content-type': 'multipart/form-data; boundary=b' },
    Readable.from([Buffer.from(text)]),
    async ({ content }) => {
      for await (const _ of content);
    },
  );
}

/** Returns rows of a chat.db, each read in a list, by id and with details. */
export function rows(): readonly Entrance[] {
  const { fixture, connection } = chatDatabases().open();
  const chat = fixture.chat('any;-;+15550100', ['+15550100']);
  const reader = new ListReader(connection);
  const read = async (columns: Readonly<Record<string, unknown>>): Promise<void> => {
    const row = fixture.message({ chat, handle_id: 1, ...columns });
    const message = reader.message(String(row));
    if (message !== undefined) reader.details(message);
    fixture.sqlite.exec(`DELETE FROM message WHERE ROWID = ${row}`);
  };
  const columns = [
    'text',
    'guid',
    'subject',
    'service',
    'account',
    'associated_message_guid',
    'thread_originator_guid',
    'thread_originator_part',
    'balloon_bundle_id',
    'expressive_send_style_id',
    'group_title',
    'destination_caller_id',
    'reply_to_guid',
    'associated_message_emoji',
  ];
  const known = columns.filter((name) => fixture.hasColumn('message', name));
  return [
    ...known.map(
      (name): Entrance => ({
        name: `the column ${name}`,
        limit: ANY,
        wanted: ['p:0/1:2:3', 'E:a@example.org'],
        take: (text) => read({ [name]: text.replaceAll('\0', ' ') }),
      }),
    ),
    {
      name: 'attributedBody',
      limit: ANY,
      wanted: ['a'],
      take: (text) => read({ text: null, attributedBody: encodeAttributedBody(text) }),
    },
    {
      name: 'a broken attributedBody',
      limit: ANY,
      wanted: ['\x84\x84\x84\x84'],
      take: (text) =>
        read({
          text: null,
          attributedBody: Buffer.concat([encodeAttributedBody('a').subarray(0, 30), Buffer.from(text, 'latin1')]),
        }),
    },
  ];
}

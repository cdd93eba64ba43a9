import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { chatDbNames, chatSendLookup, MessagesDirectory } from '../../src/core/chatdb/lookups.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import { eventFilter } from '../../src/core/model/event-filter.ts';
import { folded, searchedText, searchWords } from '../../src/core/model/folded.ts';
import { plan } from '../../src/core/sender/attempts.ts';
import { ContactBook } from '../../src/features/contacts/contact-book.ts';
import { contactsNamed, searchContacts } from '../../src/features/contacts/contact-search.ts';
import { searchQueryOf } from '../../src/features/search/language/search-query.ts';
import { parseSearch } from '../../src/features/search/language/search-text.ts';
import { AccessSending, ANA, codeOf } from '../support/access-sending.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { arrival } from '../support/memory-log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const MAIL = 'cleo@example.org';

/** The chats of macOS 26's filters (sentient-os pull request 102), and addresses in unusual spellings. */
const STORED = [
  ['any;-;22395', 'SMS', 0],
  ['any;-;22395(smsft)', 'SMS', 4],
  ['any;-;+15550101', 'iMessage', 0],
  ['any;-;+15550101(smsfp)', 'SMS', 3],
  ['any;-;+15550102(filtered)', 'SMS', 1],
  ['any;-;AXBNK-S(smsft_fi)', 'SMS', 36],
  ['SMS;-;+15550077', 'SMS', 0],
  ['iMessage;-;Cleo@Example.org', 'iMessage', 0],
  ['any;-;(800) 275-2273', 'SMS', 0],
] as const;
const CARDS = [
  ['Dee O’Neil', '22395'],
  ['Jean‑Luc\u00a0Roy', '+1 555 01 02 (work)'],
] as const;

describe('an address is the same person in every spelling', () => {
  const chats = new ChatFixture(join(folder, 'spellings.db'));
  const connection = new Connection({ path: chats.path, home: folder, log: collectingLog() });
  const directory = new MessagesDirectory(connection);
  const names = chatDbNames(connection);
  const lookup = chatSendLookup(connection);
  const book = new ContactBook('1');
  const key = { key: 1, nickname: '', organization: '', first: '', link: '' };
  beforeAll(() => {
    for (const [guid, service, filter] of STORED) {
      const address = guid.slice(guid.indexOf(';-;') + 3);
      const chat = chats.chat(guid, [address], { service_name: service, is_filtered: filter });
      chats.message({ chat, text: guid, handle_id: chats.handle(address) });
    }
    for (const [last, address] of CARDS) book.add({ ...key, last }, [address], '');
  });
  afterAll(() => {
    connection.close();
    chats.close();
  });

  test.each([
    ['22395', ['any;-;22395', 'any;-;22395(smsft)']],
    ['22395(smsft)', ['any;-;22395', 'any;-;22395(smsft)']],
    ['+1 (555) 01-01', ['any;-;+15550101', 'any;-;+15550101(smsfp)']],
    ['+15550102', ['any;-;+15550102(filtered)']],
    ['+1 555 00 77', ['SMS;-;+15550077']],
    ['+1 (0)5550077', ['SMS;-;+15550077']],
    [MAIL, ['iMessage;-;Cleo@Example.org']],
    [` ${MAIL} `, ['iMessage;-;Cleo@Example.org']],
    ['800-275-2273', ['any;-;(800) 275-2273']],
    ['axbnk-s', ['any;-;AXBNK-S(smsft_fi)']],
  ])('%s means %j for search, rights and members', (address, ids) => {
    expect([...names.conversations(address)].sort()).toEqual([...ids].sort());
    expect(
      directory
        .meant(address)
        .map(({ guid }) => guid)
        .sort(),
    ).toEqual([...ids].sort());
    expect(
      directory
        .withMember(address)
        .map(({ guid }) => guid)
        .sort(),
    ).toEqual([...ids].sort());
    expect(names.isAddress(address)).toBe(true);
  });

  test('an id means the conversation that it names, then one without a tag', async () => {
    const reader = new ChatReader(connection);
    for (const [guid] of STORED) expect((await reader.conversation(guid))?.id).toBe(guid);
    for (const [asked, id] of [
      ['SMS;-;+15550101', 'any;-;+15550101'],
      ['any;-;+1 (555) 0102', 'any;-;+15550102(filtered)'],
      ['iMessage;-;+1 (555) 00-77', 'SMS;-;+15550077'],
    ] as const) {
      expect([asked, (await reader.conversation(asked))?.id]).toEqual([asked, id]);
    }
  });

  test.each([
    ['+15550101(smsfp)', ['any;-;+15550101', 'iMessage;-;+15550101', 'SMS;-;+15550101', '@iMessage', '@']],
    ['any;-;+15550102(filtered)', ['any;-;+15550102', 'SMS;-;+15550102', '@SMS']],
    ['+1 (555) 00-77', ['SMS;-;+15550077', 'any;-;+15550077', '@SMS']],
    ['any;-;+1 (555) 00 77', ['SMS;-;+15550077', 'any;-;+15550077', '@SMS']],
  ])('a send to %s goes to the number itself, by the service of its conversation', (recipient, attempts) => {
    const made = plan(recipient, lookup.chats(recipient)).attempts;
    expect(made.map(({ chatId, service }) => chatId ?? `@${service ?? ''}`)).toEqual(attempts);
    expect(made.every(({ recipient: to }) => /^\+\d+$/.test(to))).toBe(true);
  });

  test('webhooks and names compare it, a name is found as it is typed', async () => {
    const { event, ...others } = arrival(1);
    const from = (sender: string) => ({ ...others, event: { ...event, data: { ...event.data, sender } } });
    const isWanted = eventFilter({ events: ['message.received'], filter: { senders: ['+1 (555) 0102', '22395'] } });
    const senders = ['22395(smsft)', '+15550102(filtered)', '+15550103'];
    expect(senders.map((sender) => isWanted(from(sender) as Parameters<typeof isWanted>[0]))).toEqual([
      true,
      true,
      false,
    ]);
    expect(['22395(smsft)', '+15550102(filtered)'].map((address) => book.nameOf(address))).toEqual([
      'Dee O’Neil',
      'Jean‑Luc\u00a0Roy',
    ]);
    for (const typed of ["dee o'neil", 'Jean-Luc Roy', 'JEAN–LUC  ROY']) {
      expect([typed, (await contactsNamed(book.contacts, typed)).length]).toEqual([typed, 1]);
      expect([typed, (await searchContacts(book.contacts, typed, 5)).length]).toEqual([typed, 1]);
    }
    const naming = { named: (name: string) => contactsNamed(book.contacts, name) };
    const asked = parseSearch(`from:"Dee O'Neil" in:"Jean-Luc Roy" from:٢٢٣٩٥`);
    const { query, mistakes } = await searchQueryOf(asked, undefined, { naming, chats: names } as never);
    expect(mistakes).toEqual([]);
    expect(query.conversations).toEqual([['any;-;+15550102(filtered)']]);
  });
});

test('a spelling that arrives or changes later is found, and one that is deleted is not', () => {
  const chats = new ChatFixture(join(folder, 'later.db'));
  const connection = new Connection({ path: chats.path, home: folder, log: collectingLog() });
  const found = () =>
    connection.read((snapshot) => snapshot.chatsWithId('any;-;cleo@example.org').map(({ guid }) => guid));
  chats.chat('any;-;+15550101', ['+15550101']);
  connection.check();
  expect(found()).toEqual([]);
  const rowId = chats.chat('iMessage;-;Cleo@Example.org', ['Cleo@Example.org']);
  connection.check();
  expect(found()).toEqual(['iMessage;-;Cleo@Example.org']);
  chats.sqlite.prepare('UPDATE chat SET guid = ? WHERE ROWID = ?').run('any;-;CLEO@example.org', rowId);
  connection.check();
  expect(found()).toEqual(['any;-;CLEO@example.org']);
  chats.sqlite.prepare('DELETE FROM chat WHERE ROWID = ?').run(rowId);
  connection.check();
  expect(found()).toEqual([]);
  connection.close();
  chats.close();
});

test('names are folded as texts are', () => {
  expect(folded(' Zoë  D‘Arcy\u2011Smith ')).toBe("zoe d'arcy-smith");
  expect(folded('Zoe\u0308')).toBe(folded('ZOË'));
  expect(folded('Łukasz Sørensen-Weiß')).toBe('lukasz sorensen-weiss');
  expect(folded('Dwayne “The Rock”')).toBe('dwayne "the rock"');
});

test('a number is found in people however its digits are grouped', () => {
  const text = searchedText(['Ana', null], ['+15550100', '+15550101(smsfp)']);
  for (const asked of ['+1 (555) 01-00', '555 0101', 'ana 0100', '٠١٠١']) {
    expect([asked, searchWords(asked).every((word) => text.includes(word))]).toEqual([asked, true]);
  }
});

describe('a recipient', () => {
  const service = new AccessSending(join(folder, 'sending'));
  const tagged = `any;-;${ANA}(filtered)`;
  beforeAll(() => {
    const chat = service.chats.chat(tagged, [`${ANA}(filtered)`], { service_name: 'SMS', is_filtered: 1 });
    service.chats.message({ chat, text: 'filtered', handle_id: service.chats.handle(`${ANA}(filtered)`) });
    service.chats.chat('any;-;AXISBK-S', ['AXISBK-S'], { service_name: 'SMS' });
  });
  afterAll(() => service.close());

  test('whose conversation macOS filters is read and answered by the key that names the number', async () => {
    const caller = service.caller({ scopes: ['read', 'send'], read: [ANA] });
    const { items } = await caller.reader.listConversations({ limit: 10, offset: 0 });
    expect(items.map(({ id }) => id).sort()).toEqual([`any;-;${ANA}`, tagged]);
    const page = await caller.reader.listMessages({ conversationId: tagged, order: 'desc', limit: 5, offset: 0 });
    expect(page.items.map(({ body }) => body)).toEqual(['filtered']);
    expect(await service.send(caller, { recipient: tagged, body: 'back' })).toMatchObject({ confirmed: true });
    expect(service.messages.runs.at(-1)).toMatchObject({ recipient: ANA, chatId: `any;-;${ANA}` });
  });

  test('that is no address is refused, and the error says what to write', async () => {
    const { runs } = service.messages;
    const before = runs.length;
    for (const recipient of ['AXISBK-S', 'Ana Silva', 'ana', 'mailto:ana@example.org', '<ana@example.org>']) {
      expect(await codeOf(service.ownerSender.send({ recipient, body: 'x', attachments: [] }))).toBe(
        'recipient_is_name',
      );
    }
    for (const recipient of ['any;-;AXISBK-S', 'SMS;-;AXISBK-S(smsft_fi)']) {
      const sent = service.ownerSender.send({ recipient, body: 'x', attachments: [] });
      const error: unknown = await sent.catch((reason: unknown) => reason);
      expect([recipient, isAppError(error) && error.code]).toEqual([recipient, 'invalid_request']);
      expect(JSON.stringify(isAppError(error) && error.mistakes)).toMatch(/cannot be answered/);
    }
    expect(await codeOf(service.ownerSender.send({ recipient: 'any;-;chat99', body: 'x', attachments: [] }))).toBe(
      'unknown_conversation',
    );
    expect(runs.length).toBe(before);
    // A group's id with the style of a person means the group.
    await service.ownerSender.send({ recipient: 'iMessage;-;chat77', body: 'to all', attachments: [] });
    expect(runs.at(-1)?.chatId).toBe('any;+;chat77');
  });
});

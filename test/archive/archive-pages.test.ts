import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { AttachmentDetails } from '../../src/core/model/details.ts';
import type { Message } from '../../src/core/model/message.ts';
import { ArchiveIndex } from '../../src/features/archive/archive-index.ts';
import { INDEX } from '../../src/features/archive/archive-layout.ts';
import { lineWindow } from '../../src/features/archive/chain.ts';
import { filesHtml } from '../../src/features/archive/file-html.ts';
import { listHtml } from '../../src/features/archive/first-page.ts';
import { linked, safeLink } from '../../src/features/archive/html.ts';
import { messageHtml } from '../../src/features/archive/message-html.ts';
import { Calendar } from '../../src/features/archive/page-frame.ts';
import { pagesOf } from '../../src/features/archive/pages.ts';
import { storedExtension } from '../../src/features/archive/stored-files.ts';
import { writeYear } from '../../src/features/archive/year-pages.ts';
import { DECODERS } from '../../src/features/rows.ts';
import { archived, everythingIn } from '../support/archive-fixture.ts';
import { appleNs } from '../support/chat-fixture.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { EVIL, hostileChat } from '../support/hostile-archive.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
function pagesIn(folder: string): readonly string[] {
  return everythingIn(folder)
    .map((entry) => entry.split(' ')[0] ?? '')
    .filter((path) => path.endsWith('.html'));
}

test('pages hold no element, attribute or link that somebody wrote', async () => {
  const { chatDb } = hostileChat(join(root, 'escaped'));
  const folder = join(root, 'escaped', 'archive');
  await archived(chatDb, folder, { html: true, names: { nameOf: () => EVIL } });
  const pages = pagesIn(folder).map((path) => readFileSync(join(folder, path), 'utf8'));
  expect(pages).toHaveLength(2);
  for (const page of pages) {
    // Without the page's own style.
    const shown = page.replace(/<style>.*?<\/style>/s, '');
    expect(shown).not.toMatch(/<(script|img|iframe|object|link|svg|style)\b/i);
    expect(shown).not.toMatch(/<[^>]*\son\w+=/i);
    expect(shown).not.toContain('\u0000');
    for (const [, url = ''] of shown.matchAll(/(?:href|src)="([^"]*)"/g)) {
      expect(url).toMatch(
        /^(https:\/\/example\.com\/$|#|index\.html$|\.\.\/\.\.\/index\.html$|conversations\/[0-9a-f]{16}\/\d{4}\.html$)/,
      );
    }
  }
  expect(pages.join('')).toContain('&lt;script&gt;');
});

test('pages are written again only when their messages or their neighbours have changed', async () => {
  const { chatDb, fixture, write } = hostileChat(join(root, 'again'));
  const folder = join(root, 'again', 'archive');
  const made = (): readonly (readonly [string, number])[] =>
    pagesIn(folder).map((path) => [path, statSync(join(folder, path)).mtimeMs]);
  await archived(chatDb, folder, { html: true });
  const first = made();
  await archived(chatDb, folder, { html: true });
  expect(made()).toEqual(first);
  const row = write('of another year', '2027-01-01T12:00:00Z');
  await archived(chatDb, folder, { html: true });
  const [path = ''] = pagesIn(folder).filter((one) => one.endsWith('2026.html'));
  expect(readFileSync(join(folder, path), 'utf8')).toContain('<a href="2027.html">2027</a>');
  fixture.sqlite.exec(`UPDATE message SET text = 'edited', date_edited = date WHERE ROWID = ${row}`);
  rmSync(join(folder, path));
  await archived(chatDb, folder, { html: true });
  expect(pagesIn(folder)).toHaveLength(3);
  const page = readFileSync(join(folder, path.replace('2026', '2027')), 'utf8');
  expect(page).toMatch(/edited<.*of another year/s);
  expect(readdirSync(join(folder, path, '..')).sort()).toEqual([
    '2026.html',
    '2027.html',
    'messages-2026.ndjson',
    'messages-2027.ndjson',
  ]);
});

test('a message that is still to be sent is not the newest, and one year is no choice', async () => {
  const { chatDb, fixture } = hostileChat(join(root, 'scheduled'));
  const folder = join(root, 'scheduled', 'archive');
  const clock = new FakeClock(Date.UTC(2026, 4, 3));
  const first = async (): Promise<string> => {
    await archived(chatDb, folder, { html: true, clock });
    return readFileSync(join(folder, 'index.html'), 'utf8');
  };
  const later = (iso: string): void => {
    const columns = { is_from_me: 1, schedule_type: 2, guid: iso, text: 'later', date: appleNs(iso) };
    fixture.message({ chat: 1, ...columns });
  };
  later('2026-05-09T10:00:00Z');
  const page = await first();
  expect(page).toMatch(/<td class="number">4<\/td><td class="date"><time [^>]*>2 May 2026</);
  expect(page).not.toContain('>2026</a>');
  later('2027-01-01T10:00:00Z');
  expect(await first()).toMatch(
    />2026<\/a> .*>2027<\/a> .*<td class="number">5<\/td><td class="date"><time [^>]*>2 May 2026</s,
  );
});

test('pages of a named group get the names that Contacts learns later', async () => {
  const { chatDb } = hostileChat(join(root, 'named'));
  const folder = join(root, 'named', 'archive');
  await archived(chatDb, folder, { html: true });
  const nameOf = (address: string) => (address === '+15550101' ? 'Ana Silva' : undefined);
  await archived(chatDb, folder, { html: true, names: { nameOf } });
  const [page = ''] = pagesIn(folder).filter((path) => path.endsWith('2026.html'));
  expect(readFileSync(join(folder, page), 'utf8')).toContain('Ana Silva');
});

const calendar = new Calendar('UTC');

test('a year with too many messages has a page for each month, and a month several', () => {
  const months = [
    ['01', 1],
    ['03', 3],
    ['12', 1],
  ] as const;
  const named = (max: number) =>
    pagesOf('2026', months, calendar, max).map(({ name, title, count }) => [name, title, count]);
  expect(named(3)).toEqual([
    ['2026-01.html', 'January', 1],
    ['2026-03.html', 'March', 3],
    ['2026-12.html', 'December', 1],
  ]);
  expect(named(2).slice(1, 3)).toEqual([
    ['2026-03.html', 'March, part 1', 2],
    ['2026-03-2.html', 'March, part 2', 1],
  ]);
  // The dates of messages can move to another year, but not their lines.
  const moved = pagesOf('2026', [...months, ['03', 4]], calendar, 3).map(({ name }) => name.slice('2026-'.length));
  expect(moved).toEqual(['01.html', '03.html', '12.html', '03-2.html', '03-3.html']);
});

test('each page of a year goes on where the page before it ended, in order of date', async () => {
  const { chatDb, write } = hostileChat(join(root, 'months'));
  const folder = join(root, 'months', 'archive');
  const bodies = Array.from({ length: 120 }, (_, n) => `${String(n).padStart(3, '0')} of them`);
  // The newest is written first, and two share each second.
  for (const [n, body] of bodies.entries()) {
    write(body, new Date(Date.UTC(2027, 0, 1, 12, 0, 60 - Math.floor(n / 2))).toISOString());
  }
  await archived(chatDb, folder);
  const index = new ArchiveIndex(join(folder, INDEX));
  const record = [...index.files()].find(({ path }) => path.includes('2027'));
  if (record === undefined) throw new Error('There is no file of 2027.');
  expect(index.months(record.id)).toEqual([['01', 120]]);
  const pages = [70, 50].map((count, n) => ({ name: `2027-0${n + 1}.html`, title: String(n), count }));
  const conversation = {
    title: 'Ana',
    subtitle: '',
    address: '+15550100',
    isGroup: false,
    years: [{ year: '2027', pages }],
  };
  const [calendar, names] = [new Calendar('UTC'), { nameOf: () => undefined }];
  await writeYear({
    folder,
    index,
    names,
    notes: DECODERS,
    calendar,
    conversation,
    record,
    pages,
    window: lineWindow(),
  });
  index.close();
  const shown = pages.map(({ name }) => {
    const page = readFileSync(join(folder, record.path, '..', name), 'utf8');
    return Array.from(page.matchAll(/\d{3} of them/g), ([body]) => body);
  });
  const inOrder = bodies.toSorted((a, b) => secondOf(b) - secondOf(a));
  expect(shown).toEqual([inOrder.slice(0, 70), inOrder.slice(70)]);
});

const secondOf = (body: string): number => Math.floor(Number.parseInt(body, 10) / 2);

test.each([
  ['https://example.com/a?b=1&c=2', 'https://example.com/a?b=1&c=2'],
  ['HTTPS://EXAMPLE.COM', 'https://example.com/'],
  ['http://example.com', undefined],
  ['javascript:alert(1)', undefined],
  ['data:text/html,x', undefined],
  ['https://', undefined],
  [' https://example.com', undefined],
])('a page may lead to %s: %s', (url, href) => {
  expect(safeLink(url)).toBe(href);
});

test('a message shows its styles, cards, former texts and drawings, and their text is text', () => {
  const calendar = new Calendar('UTC');
  const context = {
    names: { nameOf: () => EVIL },
    notes: DECODERS,
    calendar,
    isGroup: false,
    isOnPage: () => false,
    before: undefined,
  };
  const details: Record<string, unknown> = {
    ...{ kind: 'message', reply_to: null, retracted_at: null, read_at: null, attachments: [], reactions: [] },
    parts: [
      { part: 0, text: `bold ${EVIL}`, runs: [{ start: 0, end: 4, styles: ['bold', 'constructor'] }] },
      { part: 1, text: '', unsent: true },
    ],
    link: { type: 'page', url: 'javascript:alert(1)', title: EVIL, summary: EVIL },
    app: { type: 'app', bundle_id: EVIL, caption: EVIL },
    poll: { question: EVIL, options: [{ id: '1', text: EVIL, votes: [EVIL] }] },
    ...{ transcript: EVIL, subject: EVIL, effect: { name: EVIL, on: 'bubble', id: EVIL } },
    translations: [{ part: 0, text: EVIL, language: EVIL }],
    edits: [{ part: 0, history: [{ text: `former ${EVIL}` }, { text: 'now' }] }],
  };
  const message = { id: '1', guid: '1', body: EVIL, timestamp: '2026-05-01T00:00:00Z', details } as unknown as Message;
  const shown = messageHtml({ message, files: [], earlier: [], isRemoved: false }, context).text;
  expect(shown).toContain('<b>bold</b> &quot;');
  expect(shown).toContain('This part was unsent.');
  expect(shown).toContain('former &quot;');
  expect(shown.match(/&lt;script&gt;/g)).toHaveLength(13);
  expect(shown).not.toMatch(/<(script|img|style|constructor|function)|href="javascript:/i);
  expect(shown).not.toMatch(/<[^>]*\son\w+=/i);
  const empty = { ...message, body: '', details: { ...message.details, parts: undefined, sentence: 'A drawing.' } };
  for (const name of ['link', 'app', 'poll', 'transcript', 'subject', 'translations']) {
    delete (empty.details as Record<string, unknown>)[name];
  }
  expect(
    messageHtml({ message: empty as unknown as Message, files: [], earlier: [], isRemoved: false }, context).text,
  ).toContain('A drawing.');
});

test('a card says what its sentence says, people have their names, and votes are counted once', () => {
  const context = {
    ...{ calendar: new Calendar('UTC'), isGroup: true, isOnPage: () => false, before: undefined },
    notes: DECODERS,
    names: { nameOf: (address: string) => (address === '+15550100' ? 'Ana' : undefined) },
  };
  const shown = (members: object): string => {
    const details = { kind: 'message', reply_to: null, retracted_at: null, attachments: [], reactions: [], ...members };
    const message = { id: '1', guid: '1', body: '', sender: '+15550100', timestamp: '2026-05-01T00:00:00Z', details };
    return messageHtml({ message: message as unknown as Message, files: [], earlier: [], isRemoved: false }, context)
      .text;
  };
  const music = { type: 'music', url: 'https://example.org/', music: { track: 'Track', artist: 'Band' } };
  expect(shown({ kind: 'link', link: music })).toContain('>Music: Track by Band<');
  const claimed = { type: 'page', url: 'https://example.org/login', title: 'Your bank', site_name: 'bank.example' };
  expect(shown({ kind: 'link', link: claimed })).toContain('<small><bdi>https://example.org/login</bdi></small>');
  const business = { type: 'quick_reply', summary: 'Choose', options: ['Yes', 'No'] };
  const asked = shown({ kind: 'app', app: { type: 'business', bundle_id: 'com.apple.b', business } });
  expect(asked).toContain('Question: Choose (Yes, No)');
  expect(asked).not.toContain('com.apple.b');
  const sticker = { name: '32', bytes: 0, sticker: { source: 'genmoji', description: 'a cat' } };
  expect(shown({ attachments: [sticker], sentence: 'Genmoji: a cat' })).toContain('<bdi>Genmoji: a cat</bdi>');
  expect(shown({ kind: 'group_action', group_event: { type: 'left' }, sentence: '+15550100 left' })).toContain(
    'Ana left the conversation.',
  );
  const vote = { reaction_type: 'other', sender: '+15550100', is_from_me: false, emoji: null };
  const poll = {
    kind: 'poll',
    poll: { options: [{ id: '1', text: 'Soup', votes: ['+15550100'] }] },
    reactions: [vote],
  };
  expect(shown(poll).match(/Ana/g)).toHaveLength(2);
  expect(shown(poll)).not.toContain('a reaction');
});

test('a link in a text ends before the sentence does', () => {
  expect(linked('See (https://example.com/a).').text).toBe(
    'See (<a href="https://example.com/a" rel="noopener noreferrer">https://example.com/a</a>).',
  );
});

test.each([
  ['IMG.JPEG', null, 'jpeg'],
  ['card.loc.vcf', null, 'vcf'],
  ['page.html', 'image/jpeg', 'bin'],
  ['picture.svg', 'image/svg+xml', 'bin'],
  ['a.jpg.xml', 'image/jpeg', 'bin'],
  ['noname', 'image/jpeg', 'jpg'],
  ['noname', 'image/svg+xml', 'bin'],
  ['.jpg', null, 'bin'],
  ['a.jpg/../../x.sh', null, 'bin'],
])('%s of the type %s is stored as .%s', (name, type, extension) => {
  expect(storedExtension({ name, mime_type: type })).toBe(extension);
});

test('a message that was edited before the archive saw it says so', () => {
  const context = {
    ...{ calendar: new Calendar('UTC'), isGroup: false, isOnPage: () => false, before: undefined },
    notes: DECODERS,
    names: { nameOf: () => undefined },
  };
  const details = {
    ...{ kind: 'message', reply_to: null, retracted_at: null, attachments: [], reactions: [] },
    edited_at: '2026-05-01T14:05:00Z',
  };
  const message = { id: '1', guid: '1', body: 'New', sender: 'a', timestamp: '2026-05-01T14:00:00Z', details };
  const shown = (earlier: readonly string[]): string =>
    messageHtml(
      {
        message: message as unknown as Message,
        files: [],
        earlier: earlier.map((body) => ({ ...message, body }) as unknown as Message),
        isRemoved: false,
      },
      context,
    ).text.replace(/<[^>]*>/g, '');
  expect(shown([])).toContain('Edited 1 May 2026, 14:05');
  expect(shown(['Old'])).toMatch(/Edited 1 May 2026, 14:05: earlier text\s*Old/);
});

test('a picture that is not opened says why', () => {
  const attachment = { name: 'plan.svg', n: 0, bytes: 176, mime_type: 'image/svg+xml' } as unknown as AttachmentDetails;
  const [card] = filesHtml([attachment], [{ n: 0, sha256: 'a', file: 'files/aa/a.bin', bytes: 176 }]);
  expect(card?.text).toContain('a file of this kind can run what its sender wrote');
  expect(card?.text).not.toContain('<a');
});

test('a long list leads to years and letters, in every one of which each conversation is once', () => {
  const titles = ['ana', 'Élise', 'Émile', 'Eva', '+15550100', 'Ωmega'];
  const listed = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      ...{ key: `k${n}`, title: `${titles[n % 6]} ${n}`, subtitle: '', address: `a${n}`, messages: 1_234_567 },
      lastAt: 1_780_000_000 - n * 1_000_000,
      years: [{ year: '2026', first: '2026.html', last: '2026.html' }],
    }));
  const page = (count: number): string =>
    listHtml(listed(count), { mac: 'Mac', at: '2026-05-01T00:00:00Z', calendar: new Calendar('UTC') }).text;
  const long = page(60);
  const links = [...long.matchAll(/href="#([^"]+)">([^<]+)</g)].map(([, id = '', text = '']) => ({ id, text }));
  expect(links.map(({ text }) => text)).toEqual(['2026', '2025', '2024', 'A', 'E', 'Ω', '#']);
  for (const { id } of links) expect(long.split(`id="${id}"`)).toHaveLength(2);
  expect(long.match(/>Émile 2</g)).toHaveLength(2);
  expect(page(20)).not.toContain('aria-label="Letters"');
});

test('a long year leads to its months, in the list and on its page, and each link to one place', async () => {
  const calendar = new Calendar('UTC');
  const conversations = Array.from({ length: 60 }, (_, n) => ({
    key: String(n),
    title: `Person ${n}`,
    subtitle: '',
    address: String(n),
    messages: 1,
    lastAt: Date.UTC(2026, n % 2 === 0 ? 4 : 5, 1) / 1000,
    years: [{ year: '2026', first: '2026.html', last: '2026.html' }],
  }));
  const { chatDb, write } = hostileChat(join(root, 'places'));
  const folder = join(root, 'places', 'archive');
  // Late in the evening of the last day of a month, which is the next month in Berlin.
  for (let n = 0; n < 101; n += 1) {
    write(`${n} of them`, new Date(Date.UTC(2027, (n % 3) + 1, 0, 23, 0, n)).toISOString());
  }
  await archived(chatDb, folder, { html: true, timeZone: 'Europe/Berlin' });
  const [path = ''] = pagesIn(folder).filter((one) => one.endsWith('2027.html'));
  for (const [page, months] of [
    [listHtml(conversations, { mac: 'Mac', at: '2026-07-01T00:00:00Z', calendar }).text, ['June', 'May']],
    [readFileSync(join(folder, path), 'utf8'), ['January', 'February', 'March']],
  ] as const) {
    const links = [...page.matchAll(/href="#(m[^"]+)">([^<]+)</g)].map(([, id = '', text = '']) => ({ id, text }));
    expect(links.map(({ text }) => text)).toEqual(months);
    for (const { id } of links) expect(page.split(`id="${id}"`)).toHaveLength(2);
  }
});

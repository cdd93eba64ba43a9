import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SearchHit } from '../../src/client/types.ts';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import type { WrittenContents } from '../../src/features/simulator/row-commands.ts';
import { contentVectors } from '../support/content-vectors.ts';
import { eventually } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp } from '../support/mcp-clients.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import type { StatusWithSearch } from '../support/status-with-search.ts';

const ANA = '+15550100';

interface Item {
  readonly id: string;
  readonly body: string;
  readonly details: MessageDetails;
}

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let rows: WrittenContents;

beforeAll(async () => {
  mac = await simulatedMac();
  const { chatDbPath, osascriptPath } = mac;
  service = await Service.here({ chatDbPath, osascriptPath, settings: { search: { enabled: true } } });
  rows = await mac.command<WrittenContents>({ do: 'contents', from: ANA });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

/** Returns the sentence for each kind of content. The poll has a vote here. */
function sentencesOf(names: readonly string[]): ReadonlyMap<string, string> {
  const known = new Map(contentVectors.map(({ name, sentence }) => [name, sentence]));
  known.set('poll with a title', 'Poll: Dinner? Pizza (1), Soup (0)');
  return new Map(names.flatMap((name) => (known.get(name) === undefined ? [] : [[name, known.get(name) ?? '']])));
}

const saidBy = ({ body, details }: Item): string => details.sentence ?? body;

test('one message of each kind says what it is, in a list, an event and over MCP', async () => {
  const sentences = sentencesOf(Object.keys(rows));
  expect(sentences.size).toBeGreaterThan(25);
  const inList = (await service.get('/messages?include=details&limit=200')).json as readonly Item[];
  const listed = new Map(inList.map((item) => [Number(item.id), saidBy(item)]));
  const expected = [...sentences].map(([name, sentence]) => [name, sentence]);
  expect(expected.map(([name = '']) => [name, listed.get(rows[name] ?? 0)])).toEqual(expected);
  await eventually(async () => {
    const events = (await service.get('/events?after=0&limit=200&include=details')).json as readonly { data: Item }[];
    const told = new Map(
      events.filter(({ data }) => 'body' in data).map(({ data }) => [Number(data.id), saidBy(data)]),
    );
    expect(expected.map(([name = '']) => [name, told.get(rows[name] ?? 0)])).toEqual(expected);
  });
  const { key } = await limitedKey(service, { preset: 'reader', read: [ANA] });
  const client = await connectMcp('2026 over HTTP', service, key);
  const { text } = await client.call('messages_read', { conversation_id: `any;-;${ANA}`, limit: 100 });
  const { text: events } = await client.call('events_poll', { after: '0', limit: 200, late: true });
  await client.close();
  expect(events).toContain(`voted for "Pizza" in poll [${rows['poll with a title']}]`);
  // It shows texts unchanged, and calls people by labels.
  const cards = [...sentences.values()].filter((sentence) => /^[A-Z][^(]*: |^Unsent|^You /.test(sentence));
  expect(cards.length).toBeGreaterThan(12);
  expect(cards.filter((sentence) => !text.includes(sentence.startsWith('Re: ') ? 'text' : sentence))).toEqual([]);
  expect(text).toContain('named the conversation “Trip”.');
});

test.each([
  ['about', 'page', 'link'],
  ['pizza', 'poll with a title', 'poll'],
  ['"your move"', 'turn of a game', 'app'],
  ['plans', 'subject', 'subject'],
])('a search for %s finds %s and says where', async (question, name, place) => {
  await eventually(async () =>
    expect(((await service.get('/status')).json as StatusWithSearch).search).toMatchObject({ state: 'complete' }),
  );
  await eventually(async () => {
    const hits = (await service.get(`/search?q=${encodeURIComponent(question)}`)).json as readonly SearchHit[];
    expect(hits.map(({ message, in: where }) => [Number(message.id), where])).toContainEqual([rows[name], place]);
  });
});

test('each read of a blob that cannot be decoded is counted by its column, and the log does not mention it', async () => {
  const counted = async () => {
    const answer = await fetch(service.url.replace('/api/v1', '/metrics'), { headers: { 'x-api-key': KEY } });
    return (await answer.text()).split('\n').filter((line) => line.startsWith('postern_undecoded_total'));
  };
  const row = await mac.command<{ readonly row: number }>({ do: 'receive', from: ANA, text: 'https://example.org/p' });
  const sqlite = openSqlite(mac.chatDbPath);
  const broken = "UPDATE message SET balloon_bundle_id = ?, payload_data = x'00' WHERE ROWID = ?";
  sqlite.prepare(broken).run('com.apple.messages.URLBalloonProvider', row.row);
  sqlite.close();
  expect(await counted()).toEqual([]);
  for (const times of [1, 2]) {
    const { json } = await service.get(`/messages/${row.row}?include=details`);
    expect((json as Item).details.undecoded).toEqual(['payload_data']);
    expect(await counted()).toEqual([`postern_undecoded_total{column="payload_data"} ${times}`]);
  }
  await service.get(`/messages/${row.row}`);
  expect(await counted()).toEqual(['postern_undecoded_total{column="payload_data"} 2']);
  expect(service.output).not.toMatch(/undecoded|payload_data/);
});

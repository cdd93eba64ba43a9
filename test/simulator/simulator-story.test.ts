import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import type { Message } from '../../src/core/model/message.ts';
import { DECODERS } from '../../src/features/rows.ts';
import { Messages } from '../../src/features/simulator/simulated-messages.ts';
import { SimulatedPeople } from '../../src/features/simulator/simulated-people.ts';
import { HISTORY, STORY } from '../../src/features/simulator/story.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const TEN_MINUTES_MS = 600_000;
const STORY_MS = 3 * 60_000;

const root = temporaryFolder();
let homes = 0;
let clock: FakeClock;
let mac: Messages;
let reader: ChatReader;

beforeEach(() => {
  homes += 1;
  const home = join(root, `home-${homes}`);
  mkdirSync(join(home, 'Library/Messages'), { recursive: true });
  clock = new FakeClock(Date.UTC(2026, 10, 23, 12));
  mac = new Messages({ home, version: '26', clock });
  reader = new ChatReader(new Connection({ path: mac.path, home, log: collectingLog(), decoders: DECODERS }));
});
afterEach(() => mac.close());

const rows = (): number => mac.database.newestRow();

async function all(): Promise<readonly Message[]> {
  const query = { order: 'asc', limit: 200, offset: 0, include: includeSet(['details']) } as const;
  return (await reader.listMessages(query)).items;
}

test('the demo shows one of everything that people wonder about', async () => {
  new SimulatedPeople(mac, clock, { isQuiet: true }).start();
  await clock.advance(STORY_MS);
  expect(HISTORY.length + STORY.length).toBeGreaterThanOrEqual(60);
  const messages = await all();
  const details = messages.map((message) => message.details);
  const sentences = details.map((one) => one?.sentence ?? '').join('\n');
  expect(details.flatMap((one) => one?.undecoded ?? [])).toEqual([]);
  expect(sentences).toContain('Link: Good neighbours');
  expect(sentences).toContain('Poll: Dinner? Pizza (1)');
  expect(sentences).toContain('Voice message: “I am at the gate. Which house is it?”');
  expect(sentences).toContain('named the conversation “Garden”');
  const failed = messages.filter(({ status }) => status === 'failed');
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.filter(({ details }) => details?.read_at != null)).toEqual([]);
  for (const has of ['edited_at', 'retracted_at', 'reply_to', 'effect'] as const) {
    expect([has, details.some((one) => one?.[has])]).toEqual([has, true]);
  }
  expect(messages.filter(({ sender }) => sender === '+15550199')).toMatchObject([
    { body: expect.stringContaining('Ignore your instructions') },
  ]);
  const kinds = details.flatMap((one) => one?.attachments ?? []).map(({ name }) => name);
  for (const name of ['IMG_2041.png', 'garden-plan.svg', 'Audio Message.caf']) expect(kinds).toContain(name);
});

test('the story comes once; afterwards one person writes every ten minutes, and nobody repeats it', async () => {
  const people = new SimulatedPeople(mac, clock);
  people.start();
  await clock.advance(STORY_MS);
  const told = rows();
  await clock.advance(3 * TEN_MINUTES_MS);
  expect(rows()).toBe(told + 3);
  people.stop();
  const again = new SimulatedPeople(mac, clock);
  again.start();
  await clock.advance(STORY_MS);
  expect(rows()).toBe(told + 4);
  again.tell();
  await clock.advance(STORY_MS);
  expect(rows()).toBeGreaterThan(told + 15);
  again.stop();
});

test('with --quiet nobody writes after the end of the story', async () => {
  new SimulatedPeople(mac, clock, { isQuiet: true }).start();
  await clock.advance(STORY_MS);
  const told = rows();
  await clock.advance(3 * TEN_MINUTES_MS);
  expect(rows()).toBe(told);
});

test('the story survives a deleted message, and ends when chat.db is replaced', async () => {
  const people = new SimulatedPeople(mac, clock, { isQuiet: true });
  people.start();
  await clock.advance(8000);
  mac.database.deleteMessage(rows());
  await clock.advance(20_000);
  expect((await all()).map(({ body }) => body)).toContain('Did the parcel arrive?');
  await mac.perform({ do: 'replace' });
  const replaced = rows();
  await clock.advance(STORY_MS);
  expect(rows()).toBe(replaced);
});

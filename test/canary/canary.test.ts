import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { Config } from '../../src/core/config/config.ts';
import { canary } from '../../src/features/canary/feature.ts';
import type { CanaryStore } from '../../src/features/canary/ports.ts';
import { OWN_ADDRESS } from '../../src/features/simulator/chat-database.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { HOUR_MS, MINUTE_MS, World } from './world.ts';

const folder = temporaryFolder();
let world: World;
let worlds = 0;
beforeEach(() => {
  if (worlds > 0) world.close();
  worlds += 1;
  world = new World(join(folder, String(worlds)));
});
afterAll(() => world.close());

/** Lets one canary arrive, until the next is due. */
async function proved(): Promise<void> {
  world.canary.start();
  await world.pass(6 * HOUR_MS - MINUTE_MS);
  expect(world.canary.report().state).toBe('arriving');
}

describe('a canary', () => {
  test('is not sent before the conversation is proved, then at once and every six hours', async () => {
    world.isProved = false;
    world.canary.start();
    await world.pass(HOUR_MS);
    expect(world.sent()).toEqual([]);
    expect(world.canary.report()).toMatchObject({ state: 'address_unproved', sent_at: null });
    world.isProved = true;
    expect(world.canary.report().state).toBe('unproved');
    world.canary.noteProved();
    await world.pass(1);
    expect(world.sent()).toHaveLength(1);
    await world.pass(24 * HOUR_MS);
    expect(new Set(world.sent()).size).toBe(5);
  });

  test('that waits until the conversation is proved is tried once a minute', async () => {
    world.isProved = false;
    world.canary.start();
    await world.pass(10 * MINUTE_MS);
    expect(world.proofs).toBe(11);
  });

  test.each([
    ['an incoming copy', { selfChat: 'mirrored' }],
    ['the receipt of the own row alone', { selfChat: 'single' }],
    ['an own row that first looks like an incoming one', { selfChat: 'single', ownRows: 'without_handle' }],
  ])('arrives by %s', async (_what, behaviour) => {
    await world.behave(behaviour);
    world.canary.start();
    await world.pass(MINUTE_MS);
    const { state, delay_ms: delayMs, arrived_at: at } = world.canary.report();
    expect(state).toBe('arriving');
    expect(at).not.toBeNull();
    expect(delayMs).toBeLessThanOrEqual(MINUTE_MS);
    expect(world.canary.warning()).toBeUndefined();
  });

  test('that never arrived on this Mac raises no alarm', async () => {
    await world.behave({ push: 'dead' });
    world.canary.start();
    await world.pass(24 * HOUR_MS);
    expect(world.sent()).toHaveLength(5);
    expect(world.canary.report()).toMatchObject({ state: 'unproved', push_dead_since: null });
    expect(world.canary.warning()).toBeUndefined();
  });

  test('is the third in a row that does not arrive, with nothing else: push is dead since the first, until one arrives', async () => {
    await proved();
    await world.behave({ push: 'dead' });
    await world.pass(2 * MINUTE_MS);
    const { sent_at: since } = world.canary.report();
    await world.pass(8 * MINUTE_MS);
    expect(world.canary.report().state).toBe('arriving');
    await world.pass(2 * MINUTE_MS);
    expect(world.canary.report()).toMatchObject({ state: 'unproved', push_dead_since: null });
    expect(world.canary.warning()).toBeUndefined();
    await world.pass(6 * HOUR_MS);
    expect(world.canary.report()).toMatchObject({ state: 'unproved', push_dead_since: null });
    await world.pass(6 * HOUR_MS);
    expect(world.canary.report()).toMatchObject({ state: 'push_dead', push_dead_since: since });
    expect(world.canary.warning()?.text).toContain(`dead since ${since}`);
    // Another lost canary changes nothing, and a restart forgets nothing.
    await world.pass(7 * HOUR_MS);
    world.restart();
    expect(world.canary.report()).toMatchObject({ state: 'push_dead', push_dead_since: since });
    await world.behave({});
    await world.pass(6 * HOUR_MS);
    expect(world.canary.report()).toMatchObject({ state: 'arriving', push_dead_since: null });
    expect(world.log.lines.map(({ message }) => message)).toContain("Apple's push works again");
  });

  test('without a copy raises no alarm while other messages arrive', async () => {
    await proved();
    await world.behave({ push: 'dead' });
    for (let count = 0; count < 4; count += 1) {
      await world.pass(3 * HOUR_MS);
      world.mac.database.joinedMessage(world.mac.database.directChat('+15550100'), {
        ...{ text: 'hi', from: '+15550100', dateMs: world.clock.now() },
      });
      await world.pass(3 * HOUR_MS);
      expect(world.canary.report()).toMatchObject({ state: 'unproved', push_dead_since: null });
    }
  });

  test("arrives by a copy in the conversation with another of the owner's addresses", async () => {
    await proved();
    await world.behave({ push: 'dead' });
    await world.pass(2 * MINUTE_MS);
    const { database } = world.mac;
    const alias = '+15550177777';
    const chat = database.directChat(alias);
    database.sqlite.exec(`UPDATE chat SET last_addressed_handle = '${alias}' WHERE ROWID = ${chat}`);
    const text = `${world.sent().at(-1)}: a test that messages still reach this Mac`;
    const { arrived_at: before } = world.canary.report();
    database.joinedMessage(chat, { text, from: alias, dateMs: world.clock.now() });
    await world.pass(2 * MINUTE_MS);
    expect(world.canary.report().arrived_at).not.toBe(before);
    expect(world.canary.report().state).toBe('arriving');
  });

  test('whose own row looks like an incoming one for a moment has not arrived', async () => {
    await proved();
    await world.behave({ push: 'dead', ownRows: 'without_handle' });
    await world.pass(15 * MINUTE_MS);
    expect(world.canary.report().state).toBe('unproved');
  });

  test('that arrives late ends the alarm', async () => {
    await proved();
    await world.behave({ push: 'dead' });
    await world.pass(12 * HOUR_MS + 15 * MINUTE_MS);
    expect(world.canary.report().state).toBe('push_dead');
    world.mac.database.sqlite.exec('UPDATE message SET date_delivered = date, is_delivered = 1 WHERE is_from_me');
    await world.pass(2 * MINUTE_MS);
    const { state, delay_ms: delayMs } = world.canary.report();
    expect(state).toBe('arriving');
    expect(delayMs).toBeGreaterThan(10 * MINUTE_MS);
  });

  test.each([
    ['not_sent', 'not_permitted', 'messages_unavailable'],
    ['unknown', 'timed_out', 'send_outcome_unknown'],
  ] as const)('says "%s" after Messages answered %s, not that push is dead', async (state, name, problem) => {
    await proved();
    await world.mac.perform({ do: 'scenario', name });
    await world.pass(15 * MINUTE_MS);
    expect(world.canary.report()).toMatchObject({ state, problem, push_dead_since: null });
    expect(world.canary.warning()).toBeUndefined();
  });

  test('whose outcome is unknown arrives if it was sent after all', async () => {
    await proved();
    await world.mac.perform({ do: 'scenario', name: 'timed_out', goesOut: true });
    await world.pass(5 * MINUTE_MS);
    expect(world.canary.report()).toMatchObject({ state: 'arriving', problem: null });
    expect(new Set(world.sent()).size).toBe(2);
  });

  test('that Messages marks as failed was not sent', async () => {
    await proved();
    await world.behave({ selfChat: 'single' });
    await world.mac.perform({ do: 'scenario', name: 'error_22' });
    await world.pass(2 * MINUTE_MS);
    expect(world.canary.report()).toMatchObject({ state: 'not_sent', problem: 'send_failed' });
  });
});

describe('the delay of a canary', () => {
  /** Sends a canary that arrives only when this test says so. */
  const sendLate = async () => {
    await world.behave({ push: 'dead' });
    world.canary.start();
    await world.pass(5 * MINUTE_MS);
  };
  const arrive = async () => {
    world.mac.database.sqlite.exec('UPDATE message SET date_delivered = date, is_delivered = 1 WHERE is_from_me');
    await world.pass(MINUTE_MS);
    expect(world.canary.report().state).toBe('arriving');
  };

  test('is counted from its send', async () => {
    await sendLate();
    await arrive();
    expect(world.canary.report().delay_ms).toBeGreaterThanOrEqual(5 * MINUTE_MS);
  });

  test('is unknown after a restart in between', async () => {
    await sendLate();
    world.restart();
    await arrive();
    expect(world.canary.report()).toMatchObject({ delay_ms: null, problem: null });
    await world.behave({});
    await world.pass(6 * HOUR_MS);
    expect(world.canary.report().delay_ms).not.toBeNull();
  });
});

describe('time', () => {
  test('asleep does not count towards the ten minutes', async () => {
    await proved();
    await world.behave({ push: 'dead' });
    await world.pass(2 * MINUTE_MS);
    await world.sleep(2 * HOUR_MS);
    await world.pass(5 * MINUTE_MS);
    expect(world.canary.report().state).toBe('arriving');
    await world.pass(5 * MINUTE_MS);
    expect(world.canary.report().state).toBe('unproved');
  });

  test('asleep for three days brings one canary', async () => {
    await proved();
    await world.sleep(72 * HOUR_MS);
    await world.pass(10 * MINUTE_MS);
    expect(world.sent()).toHaveLength(2);
  });

  test('that jumps sends nothing', async () => {
    await proved();
    for (const days of [400, -400, 1, -1]) {
      world.clock.step(days * 24 * HOUR_MS);
      await world.pass(1000);
    }
    expect(world.sent()).toHaveLength(1);
    await world.pass(2 * MINUTE_MS);
    expect(world.sent()).toHaveLength(2);
  });

  test('set back before a restart brings the next canary six hours later, and not never', async () => {
    await proved();
    world.clock.step(-400 * 24 * HOUR_MS);
    world.restart();
    await world.pass(6 * HOUR_MS - MINUTE_MS);
    expect(world.sent()).toHaveLength(1);
    world.restart();
    await world.pass(2 * MINUTE_MS);
    expect(world.sent()).toHaveLength(2);
  });
});

describe('a restart', () => {
  test('sends no second canary in the same six hours', async () => {
    world.canary.start();
    await world.pass(MINUTE_MS);
    for (let count = 0; count < 5; count += 1) {
      world.restart();
      await world.pass(HOUR_MS);
    }
    expect(world.sent()).toHaveLength(1);
    expect(world.canary.report().state).toBe('arriving');
  });

  test('after a crash between the note and the send sends nothing, and says that it does not know', async () => {
    await proved();
    const { sent_at: _before, ...record } = { ...world.store.load(OWN_ADDRESS), sent_at: null };
    await world.canary.close();
    world.store.save({ ...record, outcome: 'waiting', number: '00c0ffee', sentMs: world.clock.now() } as never);
    world.restart();
    await world.pass(15 * MINUTE_MS);
    expect(world.sent()).toHaveLength(1);
    expect(world.canary.report()).toMatchObject({ state: 'unknown', problem: 'send_outcome_unknown' });
    await world.pass(6 * HOUR_MS);
    expect(world.sent()).toHaveLength(2);
  });

  test('with another address or without canaries leaves the earlier canaries out of lists', async () => {
    await proved();
    const other = 'new@example.com';
    const hiddenWith = (isEnabled: boolean) => {
      const config = { features: { 'self-chat': { address: other } } } as unknown as Config;
      return canary.hides?.({ isEnabled }, { config, state: world.state }) ?? [];
    };
    for (const isEnabled of [false, true]) {
      const hidden = hiddenWith(isEnabled);
      const connection = new Connection({ path: world.mac.path, home: folder, log: world.log, hidden });
      connection.check();
      const reader = new ChatReader(connection);
      const { items } = await reader.listMessages({ limit: 10, offset: 0, order: 'asc' });
      expect(items).toEqual([]);
      connection.close();
    }
    world.store.save({ ...world.store.load(OWN_ADDRESS), address: other } as never);
    expect(new Set(hiddenWith(false).map(({ chat }) => chat))).toEqual(new Set([OWN_ADDRESS, other]));
  });

  test('with a full disk sends nothing that could not be noted before', async () => {
    const store: CanaryStore = {
      load: () => undefined,
      save: () => {
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      },
    };
    world.restart({ store });
    await world.pass(10 * MINUTE_MS);
    expect(world.sent()).toEqual([]);
    expect(world.canary.report().state).toBe('unproved');
  });

  test('over another chat.db or with another address knows nothing of earlier canaries', async () => {
    await proved();
    world.provedMs = world.clock.now() + 1;
    world.restart();
    expect(world.canary.report()).toMatchObject({ state: 'unproved', arrived_at: null });
  });
});

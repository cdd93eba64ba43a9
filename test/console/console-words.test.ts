import { describe, expect, test } from '@jest/globals';

const CONSOLE = '../../src/features/console';
const modules = {
  events: `${CONSOLE}/views/events/event-words.ts`,
  words: `${CONSOLE}/service/words.ts`,
  webhooks: `${CONSOLE}/views/webhooks/webhook-words.ts`,
  settings: `${CONSOLE}/views/settings/setting-names.ts`,
  facts: `${CONSOLE}/views/overview/facts.ts`,
};

type SentenceOf = (
  event: object,
  messageOf: (id: string) => unknown,
  namesIn?: (id: string, mac?: string) => unknown,
) => readonly [string, string];

const BEN = { sender: '+15550101', names: { '+15550101': 'Ben Okafor' }, conversation_id: 'any;-;+15550101' };
const ladder = { id: '54', body: 'The big ladder', attachments: [], is_from_me: false, ...BEN };
const own = { ...ladder, sender: 'me@example.com', is_from_me: true };

describe('an event as a sentence', () => {
  const say = async (type: string, data: object, changes: readonly string[] = []): Promise<string> => {
    const { sentenceOf } = (await import(modules.events)) as { sentenceOf: SentenceOf };
    const [who, text] = sentenceOf({ type, data, changes }, (id) => (id === '54' ? ladder : undefined));
    return `${who} ${text}`.trim();
  };

  test('says who read which message, and never the number of a row', async () => {
    expect(await say('message.updated', ladder, ['read'])).toBe('You read “The big ladder”');
    expect(await say('message.updated', own, ['read'])).toBe('Ben Okafor read “The big ladder”');
    const inGroup = { ...own, conversation_id: 'any;+;chat42' };
    expect(await say('message.updated', inGroup, ['read'])).toBe('“The big ladder” was read');
    expect(await say('message.updated', own, ['delivered'])).toBe('“The big ladder” was delivered');
    expect(await say('message.updated', ladder, ['edited'])).toBe('Ben Okafor edited: “The big ladder”');
    expect(await say('message.updated', own, ['sent', 'failed'])).toBe('“The big ladder” was not delivered');
    const line = { ...ladder, details: { kind: 'group_action', sentence: 'Ben Okafor left' } };
    expect(await say('message.updated', line, ['read', 'edited'])).toBe('You read “Ben Okafor left”');
    expect(await say('message.removed', { id: '54' })).toBe('“The big ladder” was deleted');
  });

  test('quotes the message that somebody reacted to, or took the reaction back from', async () => {
    const love = { ...BEN, id: '60', message_id: '54', reaction_type: 'love', emoji: null, is_from_me: false };
    expect(await say('reaction.added', love)).toBe('Ben Okafor ❤️ to “The big ladder”');
    expect(await say('reaction.removed', love)).toBe('Ben Okafor took back ❤️ to “The big ladder”');
    expect(await say('reaction.added', { ...love, emoji: '🎉', message_id: '1' })).toBe('Ben Okafor 🎉 to a message');
  });

  test('takes the name that its conversation has, as the events of a hub have none', async () => {
    const { sentenceOf } = (await import(modules.events)) as { sentenceOf: SentenceOf };
    const data = { ...ladder, names: undefined, mac: 'm1' };
    const namesIn = (id: string, mac?: string) => (id === BEN.conversation_id && mac === 'm1' ? BEN.names : undefined);
    expect(sentenceOf({ type: 'message.received', data }, () => undefined, namesIn)[0]).toBe('Ben Okafor');
  });

  test('says that a message is no text if the event has no words for it, as the poll of a hub', async () => {
    expect(await say('message.received', { ...ladder, body: '' })).toBe('Ben Okafor something other than text');
    expect(await say('message.updated', { ...own, body: '' }, ['delivered'])).toBe('a message was delivered');
  });

  test('parts the name from the report of a change of the conversation', async () => {
    const details = { kind: 'group_rename', sentence: 'Ben Okafor named the conversation “Trip”.' };
    const { sentenceOf } = (await import(modules.events)) as { sentenceOf: SentenceOf };
    const event = { type: 'message.received', data: { ...ladder, body: '', details } };
    expect(sentenceOf(event, () => undefined)).toEqual(['Ben Okafor', 'named the conversation “Trip”.']);
  });

  test('is one row for all messages that were read one after another in a conversation', async () => {
    const { folded } = (await import(modules.events)) as {
      folded: (events: readonly object[]) => readonly { readonly key: string; readonly count?: number }[];
    };
    const read = (key: string, conversation: string, changes = ['read'], details?: object): object => ({
      key,
      event: { type: 'message.updated', data: { ...ladder, conversation_id: conversation, details }, changes },
    });
    const line = { kind: 'group_action', sentence: 'Ben Okafor left' };
    const events = [
      read('6', 'a'),
      read('5', 'a', ['read', 'edited'], line),
      read('4', 'a'),
      read('3', 'b'),
      read('2', 'b', ['edited']),
    ];
    expect(folded([...events, read('1', 'b')]).map(({ key, count }) => [key, count])).toEqual([
      ['6', 3],
      ['3', undefined],
      ['2', undefined],
      ['1', undefined],
    ]);
  });

  test('names the person who unsent a message', async () => {
    const details = { retracted_at: '2026-11-26T12:04:02Z', sentence: 'Unsent a message' };
    const gone = { ...ladder, body: '', details };
    expect(await say('message.updated', gone, ['unsent'])).toBe('Ben Okafor unsent a message');
  });
});

test('an own message that failed is not delivered, whichever of its events says so', async () => {
  const { isUndelivered } = (await import(modules.events)) as {
    isUndelivered: (event: object, messageOf: (id: string) => unknown) => boolean;
  };
  const failed = { ...own, status: 'failed' };
  const sent = { type: 'message.sent', data: { ...own, status: 'sent' } };
  expect(isUndelivered(sent, () => undefined)).toBe(false);
  expect(isUndelivered(sent, () => failed)).toBe(true);
  expect(isUndelivered({ type: 'message.sent', data: failed }, () => undefined)).toBe(true);
  expect(isUndelivered({ type: 'message.removed', data: { id: '54' } }, () => failed)).toBe(false);
});

test('the overview counts all dropped events, and every webhook in trouble', async () => {
  const { droppedBy, healthFacts, unnamed } = (await import(modules.facts)) as {
    unnamed: (text: string, webhooks: readonly object[]) => string;
    droppedBy: (webhooks: readonly object[], only: string) => readonly string[];
    healthFacts: (status: object, known: readonly object[]) => readonly { name: string; text: string; more: string }[];
  };
  const webhook = (name: string, state: string, dropped?: number): object => ({ id: name, name, state, dropped });
  const webhooks = [webhook('n8n', 'failing', 1), webhook('Front door', 'failing', 5), webhook('Archive', 'held')];
  expect(droppedBy(webhooks, '')).toEqual([
    '2 webhooks have dropped 6 events',
    'Front door 5, n8n 1. They can be delivered again: see below.',
  ]);
  expect(droppedBy(webhooks.slice(0, 1), 'n8n has dropped 1 event')).toEqual([
    'n8n has dropped 1 event',
    'It can be delivered again: see below.',
  ]);
  const held = [webhook('Messages', 'held')];
  expect(unnamed('Messages work; Messages is behind', held)).toBe('Messages work; one webhook is behind');
  const status = { permissions: [], backend: { connected: true }, newest_event: { age_s: null }, webhooks };
  const said = (waiting: readonly number[]): string => {
    const known = ['n8n', 'Front door', 'Archive'].map((id, at) => ({ id, behind: waiting[at] ?? 0 }));
    const fact = healthFacts(status, waiting.length === 0 ? [] : known).find(({ name }) => name === 'Webhooks');
    return `${fact?.text}: ${fact?.more}`;
  };
  expect(said([0, 0, 10])).toBe('3 of 3 in trouble: 6 dropped, 10 kept');
  expect(said([0, 0, 0])).toBe('3 of 3 failing: 6 dropped');
  expect(said([])).toBe('3 of 3 behind: 6 dropped');
});

test('the overview says that a webhook keeps up only once it has delivered', async () => {
  const { healthFacts } = (await import(modules.facts)) as {
    healthFacts: (status: object, known: readonly object[]) => readonly Readonly<Record<string, string>>[];
  };
  const success = '2026-11-26T12:04:02Z';
  const said = (...webhooks: readonly (readonly [state: string, success: string | null])[]): string => {
    const all = webhooks.map(([state, at]) => ({ state, last_success_at: at }));
    const status = { permissions: [], backend: {}, newest_event: { age_s: null }, webhooks: all };
    const { tone, text, more } = healthFacts(status, []).find(({ name }) => name === 'Webhooks') ?? {};
    return `${tone} ${text}: ${more}`;
  };
  expect(said()).toBe('off None: ');
  expect(said(['healthy', null])).toBe('off No delivery yet: ');
  expect(said(['healthy', success], ['healthy', null])).toBe('good 1 of 2 keep up: 1 without a delivery yet');
  expect(said(['healthy', success], ['paused', success])).toBe('good 1 of 1 keep up: 1 paused');
  expect(said(['paused', success])).toBe('off Paused: 1 paused');
  expect(said(['failing', null], ['healthy', success])).toBe('warn 1 of 2 behind: ');
});

test('a time of another year is no longer than a list has room for', async () => {
  const { exactTimeOf } = (await import(modules.words)) as { exactTimeOf: (at: string) => string };
  expect(exactTimeOf('2019-10-30T10:59:59Z').length).toBeLessThanOrEqual(22);
});

test('a day is called today and yesterday, and otherwise by its date', async () => {
  const { dayOf } = (await import(modules.words)) as { dayOf: (at: number) => string };
  const at = (daysAgo: number): number => new Date().setDate(new Date().getDate() - daysAgo);
  expect([0, 1].map((days) => dayOf(at(days)))).toEqual(['Today', 'Yesterday']);
  expect(dayOf(at(2))).toMatch(/^\w+day, /);
  expect(dayOf(at(800))).toMatch(/\d{4}$/);
});

test('a webhook that has delivered nothing yet is neither good nor bad', async () => {
  const { stateOf } = (await import(modules.webhooks)) as { stateOf: (webhook: object) => readonly string[] };
  const success = '2026-11-26T12:04:02Z';
  expect(stateOf({ state: 'healthy', last_success_at: null })).toEqual(['off', 'No delivery yet']);
  expect(stateOf({ state: 'healthy', last_success_at: success })).toEqual(['good', 'Delivers']);
  expect(stateOf({ state: 'failing', last_success_at: null })).toEqual(['bad', 'Failing']);
});

test('a webhook that fails does so since nobody knows when: its last success can be long before', async () => {
  const { troubleOf } = (await import(modules.webhooks)) as {
    troubleOf: (webhook: object, error: string) => { readonly since: string | null } | undefined;
  };
  const success = '2026-11-01T12:04:02Z';
  const webhook = { state: 'failing', held: null, dropped: 1, behind: 0, last_success_at: success };
  expect(troubleOf(webhook, 'Answered 503')?.since).toBeNull();
});

test('a share of nothing is 0 %, and a share near an end is not rounded to it', async () => {
  const { shareOf } = (await import(modules.webhooks)) as { shareOf: (hours: object) => string | undefined };
  const share = (delivered: number, dropped: number): string | undefined =>
    shareOf({ points: [{ counts: { delivered, dropped, failed: 7 } }] });
  expect([share(0, 3), share(3, 0), share(1, 9999), share(9999, 1), share(0, 0)]).toEqual([
    '0 %',
    '100 %',
    '0.1 %',
    '99.9 %',
    undefined,
  ]);
});

test('settings have values in words, also those that the page does not know yet', async () => {
  const { settingValue } = (await import(modules.settings)) as {
    settingValue: (key: string, value: unknown) => string;
  };
  expect([[], '', null, true, false, ['a', 'b']].map((value) => settingValue('x.y', value))).toEqual([
    'none',
    'not set',
    'not set',
    'on',
    'off',
    'a, b',
  ]);
  expect(settingValue('send.confirm_ms', 3000)).toBe('3,000 ms');
  expect(settingValue('server.port', 46_711)).toBe('46711');
});

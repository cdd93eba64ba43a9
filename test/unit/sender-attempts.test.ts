import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Attempt, KnownChat, RunOutcome, SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { plan } from '../../src/core/sender/attempts.ts';
import { attemptInTurn } from '../../src/core/sender/delivery.ts';
import { chosenPlan } from '../../src/core/sender/service-choice.ts';
import { failed, InMemoryMessages } from '../support/in-memory-messages.ts';

const ANA = '+15550100';
const chat = (guid: string, service: string | null = 'iMessage'): KnownChat => ({ guid, service });
/** Spells an attempt: `id` for a chat, `@service` for the participant of an account, `@` for a participant of any. */
const spelled = ({ chatId, service }: Attempt): string => chatId ?? `@${service ?? ''}`;
const order = (typed: string, ...chats: readonly KnownChat[]): readonly string[] =>
  plan(typed, chats).attempts.map(spelled);

describe('the attempts for one person', () => {
  test.each<readonly [string, string, readonly KnownChat[], readonly string[]]>([
    ['an address nobody wrote to', ANA, [], ['@iMessage', '@']],
    [
      'a conversation of macOS 26',
      ANA,
      [chat(`any;-;${ANA}`)],
      [`any;-;${ANA}`, `iMessage;-;${ANA}`, '@iMessage', '@'],
    ],
    ['its id', `any;-;${ANA}`, [chat(`any;-;${ANA}`)], [`any;-;${ANA}`, `iMessage;-;${ANA}`, '@iMessage', '@']],
    ['one by SMS: no other service', ANA, [chat(`any;-;${ANA}`, 'SMS')], [`any;-;${ANA}`, `SMS;-;${ANA}`, '@SMS']],
    ['one by RCS', ANA, [chat(`any;-;${ANA}`, 'rcs')], [`any;-;${ANA}`, `RCS;-;${ANA}`, '@RCS']],
    [
      'a conversation of macOS 13',
      ANA,
      [chat(`iMessage;-;${ANA}`)],
      [`iMessage;-;${ANA}`, `any;-;${ANA}`, '@iMessage', '@'],
    ],
    [
      'two services, of which chat.db has both',
      ANA,
      [chat(`SMS;-;${ANA}`, 'SMS'), chat(`iMessage;-;${ANA}`)],
      [`SMS;-;${ANA}`, `any;-;${ANA}`, `iMessage;-;${ANA}`, '@SMS'],
    ],
    [
      'a typed service that chat.db does not have',
      `SMS;-;${ANA}`,
      [chat(`iMessage;-;${ANA}`)],
      [`SMS;-;${ANA}`, '@SMS'],
    ],
    ['a typed service on macOS 26', `sms;-;${ANA}`, [chat(`any;-;${ANA}`)], [`any;-;${ANA}`, `SMS;-;${ANA}`, '@SMS']],
    ['a typed service and nobody known', `SMS;-;${ANA}`, [], ['@SMS']],
    ['a typed iMessage', `iMessage;-;${ANA}`, [], ['@iMessage']],
    ['an unknown prefix', `foo;-;${ANA}`, [], ['@iMessage']],
    ['a service that nobody can say', ANA, [chat(`any;-;${ANA}`, null)], [`any;-;${ANA}`, '@iMessage', '@']],
  ])('%s', (_name, typed, chats, expected) => {
    expect(order(typed, ...chats)).toEqual(expected);
    expect(plan(typed, chats).attempts.every(({ recipient }) => recipient === ANA)).toBe(true);
  });
});

describe('a service that is asked for', () => {
  const ANY = chat(`any;-;${ANA}`);
  const SMS = chat(`SMS;-;${ANA}`, 'SMS');
  const usual = [`any;-;${ANA}`, `iMessage;-;${ANA}`, '@iMessage', '@'];
  const chosen = (asked: Partial<SendRequest>, chats: readonly KnownChat[], history?: string) =>
    chosenPlan({ recipient: ANA, ...asked }, chats, { newestServiceTo: () => history });

  test.each<
    readonly [
      string,
      Partial<SendRequest>,
      readonly KnownChat[],
      string | undefined,
      string | undefined,
      readonly string[],
    ]
  >([
    ['is nobody’s business where it is not', {}, [ANY], 'SMS', undefined, usual],
    ['auto: the conversation there is', { service: 'auto' }, [ANY], 'SMS', 'conversation', usual],
    ['auto: the newest own message', { service: 'auto' }, [], 'SMS', 'history', ['@SMS']],
    ['auto: nothing better', { service: 'auto' }, [], undefined, 'default', ['@iMessage', '@']],
    [
      'auto: a service that Messages cannot send by',
      { service: 'auto' },
      [],
      'iMessageLite',
      'default',
      ['@iMessage', '@'],
    ],
    ['auto: a prefix asks too', { service: 'auto', recipient: `SMS;-;${ANA}` }, [], 'RCS', 'asked', ['@SMS']],
    ['another one than the conversation', { service: 'sms' }, [ANY], undefined, 'asked', ['@SMS']],
    ['that of a conversation', { service: 'sms' }, [ANY, SMS], undefined, 'asked', [`SMS;-;${ANA}`, '@SMS']],
    [
      'that of macOS 26',
      { service: 'imessage' },
      [ANY],
      undefined,
      'asked',
      [`any;-;${ANA}`, `iMessage;-;${ANA}`, '@iMessage'],
    ],
    [
      'that of a group',
      { service: 'sms', recipient: 'SMS;+;chat7' },
      [chat('SMS;+;chat7', 'SMS')],
      undefined,
      'asked',
      ['SMS;+;chat7', 'any;+;chat7', 'iMessage;+;chat7', 'RCS;+;chat7'],
    ],
  ])('%s', (_name, asked, chats, history, reason, attempts) => {
    const found = chosen(asked, chats, history);
    expect(found.plan.attempts.map(spelled)).toEqual(attempts);
    expect([found.reason, found.fallback]).toEqual([reason, undefined]);
  });

  test('and a fallback, which alone means auto', () => {
    const { reason, fallback } = chosen({ fallback: 'sms' }, [ANY, SMS]);
    expect([reason, fallback?.attempts.map(spelled)]).toEqual(['conversation', [`SMS;-;${ANA}`, '@SMS']]);
  });

  test.each<readonly [string, Partial<SendRequest>, readonly KnownChat[]]>([
    ['/service', { service: 'sms', recipient: 'any;+;chat7' }, [chat('any;+;chat7')]],
    ['/service', { service: 'sms', recipient: 'iMessage;+;chat7' }, []],
    ['/service', { service: 'sms', recipient: `iMessage;-;${ANA}` }, []],
    ['/fallback', { fallback: 'sms', recipient: 'any;+;chat7' }, [chat('any;+;chat7')]],
  ])('is refused where the recipient has another one: %s %j', (pointer, asked, chats) => {
    expect(() => chosen(asked, chats)).toThrow(
      expect.objectContaining({ code: 'service_not_possible', mistakes: [expect.objectContaining({ pointer })] }),
    );
  });
});

describe('the attempts for a group', () => {
  const all = (first: string): readonly string[] => [
    ...new Set([first, 'any;+;chat7', 'iMessage;+;chat7', 'SMS;+;chat7', 'RCS;+;chat7']),
  ];
  test.each<readonly [string, string, readonly KnownChat[], readonly string[]]>([
    ['by its id', 'any;+;chat7', [chat('any;+;chat7')], all('any;+;chat7')],
    ['stored with a service', 'any;+;chat7', [chat('iMessage;+;chat7')], all('iMessage;+;chat7')],
    ['by its bare identifier', 'chat7', [chat('iMessage;+;chat7')], all('iMessage;+;chat7')],
    ['unknown here', 'SMS;+;chat7', [], all('SMS;+;chat7')],
    ['with a prefix nobody knows', 'foo;+;chat7', [], ['foo;+;chat7']],
  ])('%s', (_name, typed, chats, expected) => {
    expect(order(typed, ...chats)).toEqual(expected);
  });

  test('end with the chat of Messages’ own list that has this identifier', async () => {
    const messages = new InMemoryMessages();
    messages.liveIds = ['any;-;chat7', 'any;+;chat77', 'any;+;chat7', 'X;+;chat7'];
    messages.behave = ({ chatId }) => (chatId === 'X;+;chat7' ? { kind: 'done' } : failed(-1728));
    expect(await run(messages, 'chat7', [chat('any;+;chat7')])).toEqual({ kind: 'done' });
    expect(messages.runs.map(spelled)).toEqual([...all('any;+;chat7'), 'X;+;chat7']);
  });
});

describe('what leads to the next attempt', () => {
  test.each<readonly [string, readonly RunOutcome[], RunOutcome, number]>([
    [
      'no such object, bad index, cannot be coerced',
      [failed(-1728), failed(-1719), failed(-1700)],
      { kind: 'done' },
      4,
    ],
    ['nothing else', [failed(-1728), failed(-1743)], failed(-1743), 2],
    ['no unknown outcome', [failed(-1712)], failed(-1712), 1],
    ['no killed run', [failed(-1728), { kind: 'killed' }], { kind: 'killed' }, 2],
    ['the last failure is the answer', Array(9).fill(failed(-1719)), failed(-1719), 4],
    ['not running: once more, by the same way', [failed(-600), failed(-1728)], { kind: 'done' }, 3],
    ['not running, a second time: the end', [failed(-600), failed(-1728), failed(-600)], failed(-600), 3],
  ])('%s', async (_name, outcomes, expected, runs) => {
    const messages = new InMemoryMessages();
    messages.endWith(...outcomes);
    expect(await run(messages, ANA, [chat(`any;-;${ANA}`)])).toEqual(expected);
    expect(messages.runs).toHaveLength(runs);
  });
});

describe('whatever is typed and known', () => {
  const word = fc.constantFrom('any', 'iMessage', 'SMS', 'RCS', 'rcs', 'foo', 'iMessageLite');
  const identifier = fc.constantFrom(ANA, 'ana@example.com', 'chat7', 'a\nb', 'a;-;b');
  const style = fc.constantFrom('-', '+');
  const guid = fc.tuple(word, style, identifier).map((parts) => parts.join(';'));
  const known = fc.record({ guid, service: fc.option(word) });
  const typed = fc.oneof(guid, identifier);
  const outcome = fc.oneof(
    fc.constantFrom(-1728, -1719, -1700, -1743, -600, -609, -1712, 1, null).map(failed),
    fc.constant<RunOutcome>({ kind: 'killed' }),
  );

  test('a group is never a person, a typed service never left, and nothing is tried after something may be out', async () => {
    await fc.assert(
      fc.asyncProperty(typed, fc.array(known, { maxLength: 3 }), fc.array(outcome), async (to, chats, outcomes) => {
        // One recipient means chats of the same style and identifier.
        const same = chats.filter((one) => tail(one.guid) === tail(chats[0]?.guid ?? ''));
        const messages = new InMemoryMessages();
        messages.endWith(...outcomes);
        const end = await run(messages, to, same);
        const { runs } = messages;
        const isGroup = same.length === 0 ? /^[^;]*;\+;/.test(to) : same[0]?.guid.includes(';+;') === true;
        if (isGroup) expect(runs.every(({ chatId }) => chatId !== null && !/^[^;]*;-;/.test(chatId))).toBe(true);
        const typedService = /^(iMessage|SMS|RCS);-;/i.exec(to)?.[1]?.toLowerCase();
        if (!isGroup && typedService !== undefined) {
          const services = runs.map(({ chatId, service }) => (chatId ?? `${service}`).split(';')[0]?.toLowerCase());
          expect(services.every((one) => one === 'any' || one === typedService)).toBe(true);
        }
        expect(runs.every(({ chatId }) => !/[\p{Cc}]/u.test(chatId ?? ''))).toBe(true);
        const before = outcomes.slice(0, Math.max(runs.length - 1, 0));
        expect(
          before.every((one) => one.kind === 'failed' && [-1728, -1719, -1700, -600].includes(one.number ?? 0)),
        ).toBe(true);
        expect(before.filter((one) => one.kind === 'failed' && one.number === -600).length).toBeLessThanOrEqual(1);
        if (runs.length > 0) expect(end).toEqual(outcomes[runs.length - 1] ?? { kind: 'done' });
      }),
      { numRuns: 2000 },
    );
  });
});

function tail(guid: string): string {
  return guid.slice(guid.indexOf(';'));
}

function run(messages: InMemoryMessages, typed: string, chats: readonly KnownChat[]): Promise<RunOutcome> {
  const { signal } = new AbortController();
  return attemptInTurn({ messages, plan: plan(typed, chats), content: { body: 'x' }, signal, onAttempt() {} });
}

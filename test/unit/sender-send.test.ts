import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { RunOutcome, SendRequest, SendResult } from '../../src/domain/ports/sending.ts';
import { Sender, type SenderOptions } from '../../src/sender/sender.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { failed, InMemoryChat, InMemoryMessages, InMemoryStore } from '../support/in-memory-messages.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
mkdirSync(join(folder, 'config'));
const photo = join(folder, 'photo.png');
const other = join(folder, 'other.png');
for (const path of [photo, other]) writeFileSync(path, 'picture');

function setUp(more: Partial<SenderOptions> = {}) {
  const clock = new FakeClock();
  const chat = new InMemoryChat();
  const messages = new InMemoryMessages();
  const store = new InMemoryStore();
  const log = collectingLog();
  const sender = new Sender({
    messages,
    lookup: chat,
    idempotency: store,
    clock,
    log,
    confirmMs: 3000,
    attachments: { roots: [], chatDbPath: join(folder, 'chat.db'), configDir: join(folder, 'config') },
    ...more,
  });
  const send = (request: Partial<SendRequest> = {}): Promise<SendResult> =>
    sender.send({ recipient: '+15550100', body: 'hello', attachments: [], ...request });
  return { clock, chat, messages, store, log, sender, send };
}

/** Lets every step that needs no time happen. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Messages that writes the row at once, in the chat of the address. */
function obedient({ chat, messages }: { chat: InMemoryChat; messages: InMemoryMessages }): void {
  messages.behave = ({ recipient, content }) => {
    const address = `-;${recipient}`;
    if ('body' in content) chat.add({ address, body: content.body });
    else chat.add({ address, attachmentNames: [content.attachment.split('/').at(-1) ?? ''] });
    return { kind: 'done' };
  };
}

describe('whom a send goes to', () => {
  test('is decided by what chat.db knows of the recipient', async () => {
    const { chat, messages, clock, send } = setUp();
    chat.know('any;-;+15550100', 'SMS', '+15550100');
    const sending = send();
    await idle();
    await clock.advance(3000);
    await sending;
    const by = { recipient: '+15550100', service: 'SMS', content: { body: 'hello' } };
    expect(messages.runs).toEqual([{ ...by, chatId: 'any;-;+15550100' }]);
  });

  test('every part begins with the first way again', async () => {
    const { chat, messages, send } = setUp({ confirmMs: 0 });
    chat.know('any;-;+15550100', 'SMS', '+15550100');
    messages.behave = ({ chatId }) => (chatId === null ? { kind: 'done' } : failed(-1728));
    await send({ attachments: [photo] });
    const ways = ['any;-;+15550100', 'SMS;-;+15550100', null];
    expect(messages.runs.map(({ chatId }) => chatId)).toEqual([...ways, ...ways]);
  });
});

describe('the answer', () => {
  test('is the Message when its row is found', async () => {
    const world = setUp();
    obedient(world);
    world.chat.know('any;-;+15550100', null, '+15550100');
    const result = await world.send();
    expect(result).toEqual({ confirmed: true, replayed: false, message: world.chat.message(1) });
  });

  test('is provisional when the row does not come in time, and the row is looked for until then', async () => {
    const { clock, chat, send } = setUp();
    const sending = send({ attachments: [] });
    await idle();
    await clock.advance(2999);
    chat.add({ body: 'something else' });
    await clock.advance(1);
    expect(await sending).toEqual({
      confirmed: false,
      replayed: false,
      message: {
        id: '',
        guid: '',
        conversation_id: '',
        sender: 'me',
        body: 'hello',
        attachments: [],
        timestamp: '2026-01-02T03:04:08Z',
        is_from_me: true,
        status: 'pending',
      },
    });
    expect(clock.pending).toBe(0);
  });

  test('comes with the next look when the row is late', async () => {
    const { clock, chat, send } = setUp();
    const sending = send();
    await idle();
    await clock.advance(1000);
    chat.add({ body: 'hello' });
    await clock.advance(25);
    expect((await sending).confirmed).toBe(true);
  });

  test('comes at once when somebody says that chat.db changed', async () => {
    let change = (): void => {};
    let listeners = 0;
    const { chat, send } = setUp({
      onChange(look) {
        listeners += 1;
        change = look;
        return () => {
          listeners -= 1;
        };
      },
    });
    const sending = send();
    await idle();
    chat.add({ body: 'hello' });
    change();
    expect((await sending).confirmed).toBe(true);
    expect(listeners).toBe(0);
  });

  test('is provisional at once while chat.db is away, and the message is sent all the same', async () => {
    const { chat, messages, log, send } = setUp();
    chat.isAway = true;
    expect((await send()).confirmed).toBe(false);
    expect(messages.runs).toHaveLength(1);
    expect(log.lines.filter((line) => line.level === 'warn')).toEqual([]);
  });

  test('is provisional when chat.db goes away while its row is awaited', async () => {
    const { chat, clock, send } = setUp();
    const sending = send();
    await idle();
    chat.isAway = true;
    await clock.advance(3000);
    expect((await sending).confirmed).toBe(false);
  });

  test('with attachments is the row of the body', async () => {
    const world = setUp();
    obedient(world);
    const result = await world.send({ attachments: [photo, other] });
    expect(result.message.id).toBe('1');
    expect(world.messages.runs.map((part) => part.content)).toEqual([
      { body: 'hello' },
      { attachment: photo },
      { attachment: other },
    ]);
  });

  test('without a body is the row of the first attachment', async () => {
    const world = setUp();
    obedient(world);
    const result = await world.send({ body: '', attachments: [photo, other] });
    expect(result.message.id).toBe('1');
    expect(world.messages.runs).toHaveLength(2);
  });
});

describe('the row of a send', () => {
  test('is in the chat that was meant, of any service', async () => {
    const { clock, chat, send } = setUp();
    chat.know('iMessage;-;+15550100', null, '+15550100');
    chat.add({ address: '-;+15550100', body: 'hello' });
    const sending = send();
    await idle();
    chat.add({ address: '-;+15550111', body: 'hello' });
    chat.add({ address: null, body: 'hello' });
    await clock.advance(100);
    const late = chat.add({ address: '-;+15550100', body: 'hello' });
    await clock.advance(25);
    expect((await sending).message.id).toBe(String(late));
  });

  test('may be in another one-to-one chat after it went to a participant', async () => {
    const { clock, chat, messages, send } = setUp();
    chat.know('any;-;+15550100', 'iMessage', '+15550100');
    messages.behave = ({ chatId }) => (chatId === null ? { kind: 'done' } : failed(-1728));
    const sending = send();
    await idle();
    chat.add({ address: '+;chat7', body: 'hello' });
    chat.add({ address: null, body: 'hello' });
    await clock.advance(100);
    const rowId = chat.add({ address: '-;ana@example.com', body: 'hello' });
    await clock.advance(25);
    expect((await sending).message.id).toBe(String(rowId));
  });

  test('may be in no chat when none was known', async () => {
    const { clock, chat, send } = setUp();
    const sending = send({ recipient: '(555) 0100' });
    await idle();
    const rowId = chat.add({ address: null, body: 'hello' });
    await clock.advance(3000);
    expect((await sending).message.id).toBe(String(rowId));
  });

  test('is waited for until it is in its chat, so that the answer can name the conversation', async () => {
    const { clock, chat, send } = setUp();
    const sending = send({ recipient: '(555) 0100' });
    await idle();
    const rowId = chat.add({ address: null, body: 'hello' });
    await clock.advance(100);
    const row = chat.rows.findIndex((own) => own.rowId === rowId);
    chat.rows[row] = { ...chat.rows[row], address: '-;+15550100' } as (typeof chat.rows)[number];
    await clock.advance(25);
    expect((await sending).message.conversation_id).toBe('any;-;+15550100');
    expect(clock.monotonic()).toBe(125);
  });

  test.each([
    ['a\r\nb\rc\n', 'a\nb\nc\n'],
    ['a\nb', 'a\r\nb'],
    ['\uFFFC\nlook\uFFFD here\n\uFFFC', 'look here'],
    ['  spaces stay  ', '  spaces stay  '],
  ])('has the same text but for line ends and placeholders (%#)', async (sent, stored) => {
    const { clock, chat, send } = setUp();
    const sending = send({ body: sent });
    await idle();
    chat.add({ body: stored.trim() === stored ? `${stored} ` : stored.trim() });
    const rowId = chat.add({ body: stored });
    await clock.advance(25);
    expect((await sending).message.id).toBe(String(rowId));
  });

  test('has the name of the file, composed or not', async () => {
    const path = join(folder, 'Caf\u00e9.png');
    writeFileSync(path, 'x');
    const { clock, chat, messages, send } = setUp();
    const sending = send({ body: '', attachments: [path] });
    await eventually(() => expect(messages.runs.length).toBe(1));
    await idle();
    const rowId = chat.add({ attachmentNames: ['Cafe\u0301.png'] });
    await clock.advance(25);
    expect((await sending).message.id).toBe(String(rowId));
  });

  test('is the first for the first of two equal texts', async () => {
    const world = setUp();
    obedient(world);
    const results = await Promise.all([world.send(), world.send(), world.send()]);
    expect(results.map((result) => result.message.id)).toEqual(['1', '2', '3']);
  });

  test('that comes late belongs to the earlier send', async () => {
    const { clock, chat, send } = setUp();
    const first = send();
    await idle();
    await clock.advance(3000);
    expect((await first).confirmed).toBe(false);
    const second = send();
    await idle();
    chat.add({ body: 'hello' });
    await clock.advance(25);
    const later = chat.add({ body: 'hello' });
    await clock.advance(25);
    expect((await second).message.id).toBe(String(later));
  });

  test('that comes late belongs to the earlier send for 90 seconds', async () => {
    for (const [laterMs, isLate] of [
      [89_000, true],
      [91_000, false],
    ] as const) {
      const { clock, chat, send } = setUp();
      const first = send();
      await idle();
      await clock.advance(laterMs);
      await first;
      const second = send();
      await idle();
      chat.add({ body: 'hello' });
      await clock.advance(25);
      chat.add({ body: 'hello' });
      await clock.advance(25);
      expect((await second).message.id).toBe(isLate ? '2' : '1');
    }
  });

  test('is not one that was there before the run, though an earlier send still waits for its own', async () => {
    const { clock, chat, send } = setUp({ confirmMs: 25 });
    const earlier = send({ body: 'something else' });
    await idle();
    await clock.advance(25);
    await earlier;
    chat.add({ body: 'hello' }); // written on another device
    const sending = send();
    await idle();
    await clock.advance(25);
    expect((await sending).confirmed).toBe(false);
  });

  test('is kept for a send whose outcome is unknown', async () => {
    const { clock, chat, messages, send } = setUp();
    messages.endWith(failed(-609));
    await expect(send()).rejects.toMatchObject({ code: 'send_outcome_unknown' });
    const second = send();
    await idle();
    chat.add({ body: 'hello' });
    await clock.advance(25);
    const later = chat.add({ body: 'hello' });
    await clock.advance(25);
    expect((await second).message.id).toBe(String(later));
  });

  test('that never came does not cost an equal text its row for ever', async () => {
    const { clock, chat, send } = setUp();
    const first = send();
    await idle();
    await clock.advance(120_000);
    expect((await first).confirmed).toBe(false);
    const second = send();
    await idle();
    chat.add({ body: 'hello' });
    await clock.advance(25);
    expect((await second).confirmed).toBe(true);
  });

  test('is not kept for a send that Messages refused', async () => {
    const world = setUp();
    world.messages.endWith(failed(1));
    await expect(world.send()).rejects.toMatchObject({ code: 'send_failed' });
    obedient(world);
    expect((await world.send()).confirmed).toBe(true);
  });
});

describe('a run that fails', () => {
  test.each<[RunOutcome, number, string, Record<string, unknown>]>([
    [failed(-1743), 503, 'messages_unavailable', { messages_error: -1743 }],
    [failed(-1744), 503, 'messages_unavailable', { messages_error: -1744 }],
    [failed(-10810), 503, 'messages_unavailable', { messages_error: -10810 }],
    [failed(-10004), 503, 'messages_unavailable', { messages_error: -10004 }],
    [failed(-609), 504, 'send_outcome_unknown', { messages_error: -609 }],
    [failed(-1712), 504, 'send_outcome_unknown', { messages_error: -1712 }],
    [failed(1), 502, 'send_failed', { messages_error: 1 }],
    [failed(null), 502, 'send_failed', { messages_error: null }],
    [{ kind: 'killed' }, 504, 'send_outcome_unknown', {}],
    [{ kind: 'not_started', message: 'ENOENT' }, 503, 'messages_unavailable', {}],
  ])('%j is told once and never tried again', async (outcome, status, code, extra) => {
    const { messages, clock, send } = setUp();
    messages.endWith(outcome);
    const error: unknown = await send().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status, code, extra });
    expect((error as { hint?: string }).hint).toMatch(/\.$/);
    // Neither address nor text may stand in a problem.
    expect((error as Error).message).not.toContain('5550100');
    expect(messages.runs).toHaveLength(1);
    expect(messages.opened).toBe(0);
    expect(clock.pending).toBe(0);
  });

  test('because Messages does not run is tried once more after opening it', async () => {
    const { messages, clock, send } = setUp();
    messages.endWith(failed(-600));
    const sending = send();
    await idle();
    await clock.advance(3000);
    await sending;
    expect(messages.opened).toBe(1);
    expect(messages.runs).toHaveLength(2);
  });

  test('because Messages does not run, even after opening it, ends there', async () => {
    const { messages, send } = setUp();
    messages.endWith(failed(-600), failed(-600));
    await expect(send()).rejects.toMatchObject({ code: 'messages_unavailable', extra: { messages_error: -600 } });
    expect(messages.runs).toHaveLength(2);
    messages.endWith(failed(-600), failed(-609));
    await expect(send()).rejects.toMatchObject({ code: 'send_outcome_unknown' });
  });

  test('in a later part says which parts went out', async () => {
    const { messages, send } = setUp();
    messages.endWith({ kind: 'done' }, { kind: 'done' }, failed(1));
    await expect(send({ attachments: [photo, other] })).rejects.toMatchObject({
      code: 'send_failed',
      extra: { messages_error: 1, parts_sent: ['/body', '/attachments/0'] },
    });
    expect(messages.runs).toHaveLength(3);
  });
});

describe('while macOS is asking whether Messages may be controlled', () => {
  test('nothing is sent, the answer says so, and the same key may be used again', async () => {
    let isAsking = true;
    const { messages, store, send } = setUp({ confirmMs: 0, isAsking: async () => isAsking });
    const request = { idempotencyKey: 'k' };
    await expect(send(request)).rejects.toMatchObject({ status: 503, code: 'messages_unavailable' });
    expect([messages.runs.length, store.kept.size]).toEqual([0, 0]);
    isAsking = false;
    await send(request);
    expect(messages.runs).toHaveLength(1);
  });
});

describe('an attachment that is exchanged while its send waits', () => {
  /** The rules, and when a check has got as far as reading them a second time: the file has been looked at by then. */
  const watchedRules = (): { readonly rules: SenderOptions['attachments']; readonly looks: () => number } => {
    let looks = 0;
    return {
      rules: {
        roots: [join(folder, 'outbox')],
        chatDbPath: join(folder, 'chat.db'),
        get configDir() {
          looks += 1;
          return join(folder, 'config');
        },
      },
      looks: () => looks,
    };
  };

  test('is not sent, though a link in its place leads to a file that may be read', async () => {
    const path = join(folder, 'outbox', 'a.txt');
    mkdirSync(join(folder, 'outbox'), { recursive: true });
    writeFileSync(path, 'a letter');
    const secret = join(folder, 'secret.txt');
    writeFileSync(secret, 'a secret');
    for (const staging of [{}, { stagingFolder: join(folder, 'staged') }]) {
      const { rules, looks } = watchedRules();
      const { messages, clock, send } = setUp({ attachments: rules, confirmMs: 0, ...staging });
      let release = (): void => {};
      messages.behave = () => new Promise((resolve) => (release = () => resolve({ kind: 'done' })));
      const first = send();
      await eventually(() => expect(messages.runs.length).toBe(1));
      const second = send({ attachments: [path] });
      await eventually(() => expect(looks()).toBeGreaterThan(0));
      rmSync(path);
      symlinkSync(secret, path);
      release();
      await first;
      await expect(second).rejects.toMatchObject({ status: 400, code: 'attachment_changed' });
      expect(messages.runs).toHaveLength(1);
      rmSync(path);
      writeFileSync(path, 'a letter');
      await clock.advance(3_600_000);
    }
  });
});

describe('the queue', () => {
  test('is strictly serial, in order of arrival, whatever has to be checked first', async () => {
    const world = setUp();
    let running = 0;
    world.messages.behave = async ({ content }) => {
      running += 1;
      expect(running).toBe(1);
      await idle();
      running -= 1;
      world.chat.add('body' in content ? { body: content.body } : { attachmentNames: ['photo.png'] });
      return { kind: 'done' };
    };
    await Promise.all([
      world.send({ body: '', attachments: [photo] }),
      ...['a', 'b', 'c'].map((body) => world.send({ body })),
    ]);
    expect(world.messages.runs.map((part) => part.content)).toEqual([
      { attachment: photo },
      { body: 'a' },
      { body: 'b' },
      { body: 'c' },
    ]);
  });

  test('takes 100 behind the one that runs, and refuses the next with Retry-After', async () => {
    const world = setUp({ confirmMs: 0 });
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.messages.behave = async () => {
      await gate;
      return { kind: 'done' };
    };
    const sends = Array.from({ length: 101 }, (_, index) => world.send({ body: String(index) }));
    await idle();
    await expect(world.send()).rejects.toMatchObject({
      status: 503,
      code: 'send_queue_full',
      headers: { 'Retry-After': expect.stringMatching(/^\d+$/) },
    });
    release();
    await Promise.all(sends);
    expect(world.messages.runs).toHaveLength(101);
  });

  test('goes on after a failure', async () => {
    const { messages, send } = setUp({ confirmMs: 0 });
    messages.endWith({ kind: 'killed' });
    const [first, second] = await Promise.allSettled([send(), send()]);
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
  });

  test('refuses bad attachments without waiting for its turn, and sends nothing', async () => {
    const { messages, send } = setUp();
    messages.behave = () => new Promise(() => {});
    void send();
    await idle();
    await expect(send({ attachments: [photo, 'photo.png'] })).rejects.toMatchObject({
      status: 400,
      mistakes: [{ pointer: '/attachments/1' }],
    });
    await expect(send({ body: '' })).rejects.toMatchObject({ status: 400, mistakes: [{ pointer: '/body' }] });
    expect(messages.runs).toHaveLength(1);
  });
});

describe('shutting down', () => {
  function hanging(world: ReturnType<typeof setUp>): void {
    world.messages.behave = (_part, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ kind: 'killed' })));
  }

  test('refuses what waits at once and lets the running send go on', async () => {
    const world = setUp();
    let release = (): void => {};
    world.messages.behave = () =>
      new Promise((resolve) => {
        release = () => resolve({ kind: 'done' });
      });
    const running = world.send();
    const waiting = world.send({ idempotencyKey: 'k' });
    await idle();
    const closing = world.sender.close();
    await expect(waiting).rejects.toMatchObject({ status: 503, code: 'shutting_down' });
    await expect(world.send()).rejects.toMatchObject({ code: 'shutting_down' });
    expect(world.store.kept.size).toBe(0);
    await world.clock.advance(7000);
    world.chat.add({ body: 'hello' });
    release();
    expect((await running).confirmed).toBe(true);
    await closing;
    await world.sender.close();
    expect(world.messages.runs).toHaveLength(1);
    expect(world.clock.pending).toBe(0);
  });

  test('kills a run that still goes after 8 s: its outcome is unknown, and the record says the same', async () => {
    const world = setUp();
    hanging(world);
    const running = world.send({ idempotencyKey: 'k', attachments: [photo] });
    const failure = expect(running).rejects.toMatchObject({ status: 504, code: 'send_outcome_unknown' });
    await eventually(() => expect(world.messages.runs.length).toBe(1));
    const closing = world.sender.close();
    await world.clock.advance(8000);
    await failure;
    await closing;
    expect(world.store.kept.get('k')?.outcome).toMatchObject({
      state: 'problem',
      problem: expect.stringContaining('send_outcome_unknown'),
    });
    expect(world.messages.runs).toHaveLength(1);
  });

  test('begins no further part after 8 s, and says that the ones before went out', async () => {
    const world = setUp();
    let release = (): void => {};
    world.messages.behave = () =>
      new Promise((resolve) => {
        release = () => resolve({ kind: 'done' });
      });
    const failure = expect(world.send({ attachments: [photo] })).rejects.toMatchObject({
      code: 'send_outcome_unknown',
      extra: { parts_sent: ['/body'] },
    });
    await eventually(() => expect(world.messages.runs.length).toBe(1));
    const closing = world.sender.close();
    await world.clock.advance(8000);
    release();
    await failure;
    await closing;
    expect(world.messages.runs).toHaveLength(1);
  });

  test('does not wait for Messages to open, nor for a row', async () => {
    const world = setUp({ confirmMs: 60_000 });
    world.messages.endWith(failed(-600));
    world.messages.open = (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    const opening = world.send().catch((error: unknown) => error);
    await idle();
    const closing = world.sender.close();
    await world.clock.advance(8000);
    expect(await opening).toMatchObject({ code: 'messages_unavailable' });
    await closing;

    const patient = setUp({ confirmMs: 60_000 });
    const sending = patient.send();
    await idle();
    const closed = patient.sender.close();
    await patient.clock.advance(8000);
    expect((await sending).confirmed).toBe(false);
    await closed;
  });
});

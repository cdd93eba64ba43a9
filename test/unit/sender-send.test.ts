import { describe, expect, test } from '@jest/globals';
import type { RunOutcome } from '../../src/core/model/ports/sending-ports.ts';
import { problem } from '../../src/core/model/problems.ts';
import { failed } from '../support/in-memory-messages.ts';
import { idle, obedient, other, photo, setUp } from '../support/sender-fixture.ts';

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

  test('the parts after a fallback go by it at once', async () => {
    const { messages, send } = setUp({ confirmMs: 0 });
    messages.behave = ({ service }) => (service === 'SMS' ? { kind: 'done' } : failed(-1728));
    await send({ attachments: [photo], service: 'imessage', fallback: 'sms' });
    expect(messages.runs.map(({ service }) => service)).toEqual(['iMessage', 'SMS', 'SMS']);
  });

  test('a send falls back when Messages marks its pending row as failed', async () => {
    const world = setUp();
    world.chat.know('any;-;+15550100', 'iMessage', '+15550100');
    obedient(world);
    world.chat.status = 'pending';
    const sending = world.send({ fallback: 'sms' });
    await idle();
    expect(world.messages.runs.map(({ service }) => service)).toEqual(['iMessage']);
    world.chat.status = 'failed';
    await world.clock.advance(25);
    await sending;
    expect(world.messages.runs.map(({ service }) => service)).toEqual(['iMessage', 'SMS']);
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

  test('to a text of placeholders alone is a refusal, because any row without text would be taken for its own', async () => {
    const { messages, send } = setUp({ confirmMs: 0 });
    for (const body of ['\uFFFC', '\uFFFC\n\uFFFD']) {
      for (const attachments of [[], [photo]]) {
        await expect(send({ body, attachments })).rejects.toMatchObject({ code: 'invalid_request' });
      }
    }
    expect(messages.runs).toEqual([]);
    await send({ body: 'see \uFFFC', attachments: [] });
    expect(messages.runs).toHaveLength(1);
  });

  test('comes after the event of its row', async () => {
    const rows: number[] = [];
    let publish = (): void => {};
    const published = (rowId: number): Promise<void> => {
      rows.push(rowId);
      return new Promise((resolve) => (publish = resolve));
    };
    const world = setUp({ published });
    obedient(world);
    let isAnswered = false;
    const sending = world.send().then(() => (isAnswered = true));
    await idle();
    expect([rows, isAnswered]).toEqual([[1], false]);
    publish();
    await sending;
  });

  test('is provisional when the row does not come in time, and the row is looked for until then', async () => {
    const { clock, chat, sender, send } = setUp();
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
    await sender.close();
    expect(clock.pending).toBe(0);
  });

  test('comes with the next check when the row is late', async () => {
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

  test('is provisional at once while chat.db is away, and the message is still sent', async () => {
    const { chat, messages, log, send } = setUp();
    chat.isAway = true;
    expect((await send()).confirmed).toBe(false);
    expect(messages.runs).toHaveLength(1);
    expect(log.lines.filter((line) => line.level === 'warn')).toEqual([]);
  });

  test('to a bare identifier of a group is refused while chat.db cannot be read, and a whole id is tried', async () => {
    const { chat, messages, send } = setUp();
    chat.isAway = true;
    await expect(send({ recipient: 'chat123' })).rejects.toMatchObject({ status: 503, code: 'chat_db_unavailable' });
    expect(messages.runs).toEqual([]);
    expect((await send({ recipient: 'iMessage;+;chat123' })).confirmed).toBe(false);
    expect(messages.runs.map(({ chatId }) => chatId)).toEqual(['iMessage;+;chat123']);
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

describe('a run that fails', () => {
  test.each<[RunOutcome, number, string, Record<string, unknown>]>([
    [failed(-1743), 503, 'messages_unavailable', { messages_error: -1743 }],
    [failed(-1744), 503, 'messages_unavailable', { messages_error: -1744 }],
    [failed(-10810), 503, 'messages_unavailable', { messages_error: -10810 }],
    [failed(-10004), 503, 'messages_unavailable', { messages_error: -10004 }],
    [failed(-609), 504, 'send_outcome_unknown', { messages_error: -609 }],
    [failed(-1712), 504, 'send_outcome_unknown', { messages_error: -1712 }],
    [failed(-43), 502, 'send_failed', { messages_error: -43 }],
    [failed(1), 504, 'send_outcome_unknown', { messages_error: 1 }],
    [failed(null), 504, 'send_outcome_unknown', { messages_error: null }],
    [{ kind: 'killed' }, 504, 'send_outcome_unknown', {}],
    [{ kind: 'not_started', message: 'ENOENT' }, 503, 'messages_unavailable', {}],
  ])('%j is reported once and never tried again', async (outcome, status, code, extra) => {
    const { messages, clock, sender, send } = setUp();
    messages.endWith(outcome);
    let error: unknown;
    const sending = send().catch((reason: unknown) => (error = reason));
    await idle();
    // After an error of which nothing is known, the row is looked for.
    expect(error === undefined).toBe(outcome.kind === 'failed' && [1, null].includes(outcome.number));
    await clock.advance(1000);
    await sending;
    expect(error).toMatchObject({ status, code, extra });
    expect((error as { hint?: string }).hint).toMatch(/\.$/);
    // Problems contain neither address nor text.
    expect((error as Error).message).not.toContain('5550100');
    expect(messages.runs).toHaveLength(1);
    expect(messages.opened).toBe(0);
    // A row is looked for only if the send may have gone out.
    expect(clock.pending).toBe(code === 'send_outcome_unknown' ? 1 : 0);
    await sender.close();
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

  test('because Messages does not run is not tried again if the send was forbidden meanwhile', async () => {
    const { messages, send } = setUp();
    messages.endWith(failed(-600));
    const check = (): void => {
      if (messages.opened > 0) throw problem('recipient_not_allowed');
    };
    await expect(send({ check })).rejects.toMatchObject({ code: 'recipient_not_allowed' });
    expect([messages.opened, messages.runs.length]).toEqual([1, 1]);
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
    messages.endWith({ kind: 'done' }, { kind: 'done' }, failed(-43));
    await expect(send({ attachments: [photo, other] })).rejects.toMatchObject({
      code: 'send_failed',
      extra: { messages_error: -43, parts_sent: ['/body', '/attachments/0'] },
    });
    expect(messages.runs).toHaveLength(3);
  });
});

describe('while macOS is asking whether Messages may be controlled', () => {
  test('nothing is sent, the answer says so, and the same key may be used again', async () => {
    const { messages, store, send } = setUp({ confirmMs: 0 });
    messages.isAskingNow = true;
    const request = { idempotencyKey: { kind: 'client', key: 'k' } } as const;
    await expect(send(request)).rejects.toMatchObject({ status: 503, code: 'messages_unavailable' });
    expect([messages.runs.length, store.kept.size]).toEqual([0, 0]);
    messages.isAskingNow = false;
    await send(request);
    expect(messages.runs).toHaveLength(1);
  });
});

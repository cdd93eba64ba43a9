import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { IdempotencyStore, SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { idempotencyStore } from '../../src/core/state/idempotency-store.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { failed, InMemoryChat, InMemoryMessages } from '../support/in-memory-messages.ts';
import { collectingLog } from '../support/log.ts';
import { newSender } from '../support/new-sender.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
let worlds = 0;

/**
 * Creates one Messages and one chat.db that outlive any number of services; each service reopens the state database.
 */
function setUp() {
  worlds += 1;
  const statePath = join(folder, `state-${worlds}.db`);
  const clock = new FakeClock();
  const chat = new InMemoryChat(() => clock.now());
  const messages = new InMemoryMessages();
  const log = collectingLog();
  messages.behave = ({ content }) => {
    chat.add('body' in content ? { body: content.body } : {});
    return { kind: 'done' };
  };
  const start = (wrap: (store: IdempotencyStore) => IdempotencyStore = (store) => store) => {
    const state = openStateDatabase(statePath);
    const { sender } = newSender({
      messages,
      lookup: chat,
      idempotency: wrap(idempotencyStore(state)),
      sentParts: sentPartStore(state),
      clock,
      log,
      confirmMs: 100,
      attachments: { roots: [], chatDbPath: join(folder, 'chat.db'), configDir: join(folder, 'config') },
    });
    return (request: Partial<SendRequest> = {}) =>
      sender.send({
        recipient: '+15550100',
        body: 'hello',
        attachments: [],
        idempotencyKey: { kind: 'client', key: 'key' },
        ...request,
      });
  };
  return { clock, chat, messages, log, start };
}

const never = <Result>(): Promise<Result> => new Promise(() => {});

describe('the same Idempotency-Key', () => {
  test('says that the outcome is unknown after a failure that nobody expected', async () => {
    const { messages, start } = setUp();
    const send = start();
    messages.behave = () => {
      throw new TypeError('a defect');
    };
    await expect(send()).rejects.toMatchObject({ status: 504, code: 'send_outcome_unknown' });
    await expect(send()).rejects.toMatchObject({ status: 504, code: 'send_outcome_unknown' });
  });

  test('says so too if that failure came before Messages was asked', async () => {
    const { messages, start } = setUp();
    const send = start();
    const defect = (): never => {
      throw new TypeError('a defect');
    };
    await expect(send({ check: defect })).rejects.toThrow('a defect');
    await expect(send()).rejects.toMatchObject({ status: 504, code: 'send_outcome_unknown' });
    expect(messages.runs).toHaveLength(0);
  });

  test('and request gives the stored outcome, with the Message as chat.db has it now', async () => {
    const { chat, messages, start } = setUp();
    const send = start();
    const first = await send();
    expect(first).toMatchObject({ confirmed: true, replayed: false });
    expect(await send()).toEqual({ ...first, replayed: true });
    expect(await start()()).toEqual({ confirmed: true, replayed: true, message: chat.message(1) });
    expect(messages.runs).toHaveLength(1);
  });

  test('with another request is refused', async () => {
    const { messages, start } = setUp();
    const send = start();
    await send();
    for (const change of [{ body: 'hello ' }, { recipient: '+15550101' }, { attachments: [anyFile()] }]) {
      await expect(send(change)).rejects.toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    }
    expect(messages.runs).toHaveLength(1);
  });

  test('while the first still runs is a conflict, and with another request a mistake', async () => {
    const { messages, start } = setUp();
    messages.behave = never;
    const send = start();
    void send();
    await expect(send()).rejects.toMatchObject({ status: 409, code: 'send_in_progress' });
    await expect(send({ body: 'other' })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    await eventually(() => expect(messages.runs.length).toBe(1));
    await expect(send()).rejects.toMatchObject({ status: 409, code: 'send_in_progress' });
    expect(messages.runs).toHaveLength(1);
  });

  test('repeats a problem unchanged', async () => {
    const { messages, start } = setUp();
    messages.endWith(failed(-1743));
    const send = start();
    const problem = {
      status: 503,
      code: 'messages_unavailable',
      message: expect.stringContaining('not allowed'),
      hint: expect.stringContaining('Automation'),
      extra: { messages_error: -1743 },
    };
    await expect(send()).rejects.toMatchObject({ ...problem, headers: {} });
    const again = { ...problem, headers: { 'Idempotent-Replayed': 'true' } };
    await expect(send()).rejects.toMatchObject(again);
    await expect(start()()).rejects.toMatchObject(again);
    expect(messages.runs).toHaveLength(1);
  });

  test('gives a provisional answer again, until its row has come', async () => {
    const { clock, chat, messages, start } = setUp();
    messages.behave = () => ({ kind: 'done' });
    const send = start();
    const first = send();
    await eventually(() => expect(clock.pending).toBeGreaterThan(0));
    await clock.advance(100);
    expect((await first).confirmed).toBe(false);
    expect(await send()).toMatchObject({ confirmed: false, replayed: true, message: { id: '', body: 'hello' } });
    await clock.advance(60_000);
    const rowId = chat.add({ body: 'hello' });
    expect(await send()).toMatchObject({ confirmed: true, replayed: true, message: { id: String(rowId) } });
    expect(await start()()).toMatchObject({ confirmed: true, message: { id: String(rowId) } });
    expect(messages.runs).toHaveLength(1);
  });

  test('after 24 hours sends again', async () => {
    const { clock, messages, start } = setUp();
    const send = start();
    await send();
    await clock.advance(24 * 3_600_000 + 1);
    expect((await send()).replayed).toBe(false);
    expect(messages.runs).toHaveLength(2);
  });

  test('may be used again when the request was refused before anything ran', async () => {
    const { messages, start } = setUp();
    const send = start();
    await expect(send({ attachments: ['relative'] })).rejects.toMatchObject({ status: 400 });
    expect((await send()).replayed).toBe(false);
    expect(messages.runs).toHaveLength(1);
  });

  test('never sends twice when an outcome could not be stored', async () => {
    const { messages, log, start } = setUp();
    const send = start((store) => ({
      find: (...find) => store.find(...find),
      claim: (...claim) => store.claim(...claim),
      finish() {
        throw Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' });
      },
    }));
    expect((await send()).confirmed).toBe(true);
    expect(log.lines.some((line) => line.level === 'error')).toBe(true);
    await expect(send()).rejects.toMatchObject({ status: 409, code: 'send_outcome_unknown' });
    expect(messages.runs).toHaveLength(1);
  });

  test('sends nothing when the key could not be claimed', async () => {
    const { messages, start } = setUp();
    const broken = start((store) => ({
      find: (...find) => store.find(...find),
      claim() {
        throw Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' });
      },
      finish: (...finish) => store.finish(...finish),
    }));
    await expect(broken()).rejects.toMatchObject({ code: 'SQLITE_FULL' });
    expect(messages.runs).toHaveLength(0);
  });
});

test('a repeat is answered although its attachment is gone by now', async () => {
  const { messages, start } = setUp();
  const photo = join(folder, 'photo.jpg');
  const attachments = [photo];
  writeFileSync(photo, 'x');
  const send = start();
  await send({ attachments });
  rmSync(photo);
  expect((await send({ attachments })).replayed).toBe(true);
  expect(messages.runs.filter((run) => 'attachment' in run.content)).toHaveLength(1);
});

describe('a crash', () => {
  test('before the claim leaves the key free', async () => {
    const { messages, start } = setUp();
    start((store) => ({
      find: (...find) => store.find(...find),
      claim: crash,
      finish: (...finish) => store.finish(...finish),
    }))().catch(() => {});
    expect((await start()()).replayed).toBe(false);
    expect(messages.runs).toHaveLength(1);
  });

  test('between the claim and the run, or during the run, leaves the outcome unknown', async () => {
    const { messages, start } = setUp();
    const { behave } = messages;
    messages.behave = never;
    void start()();
    await eventually(() => expect(messages.runs.length).toBe(1));
    messages.behave = behave;
    const send = start();
    await expect(send()).rejects.toMatchObject({ status: 409, code: 'send_outcome_unknown' });
    await expect(send()).rejects.toMatchObject({ status: 409, code: 'send_outcome_unknown' });
    expect(messages.runs).toHaveLength(1);
  });

  test('between the run and the stored outcome leaves it unknown too', async () => {
    const { messages, start } = setUp();
    void start((store) => ({
      find: (...find) => store.find(...find),
      claim: (...claim) => store.claim(...claim),
      finish: crash,
    }))().catch(() => {});
    await eventually(() => expect(messages.runs.length).toBe(1));
    await expect(start()()).rejects.toMatchObject({ status: 409, code: 'send_outcome_unknown' });
    expect(messages.runs).toHaveLength(1);
  });

  test('after the outcome was stored changes nothing', async () => {
    const { messages, start } = setUp();
    await start()();
    expect(await start()()).toMatchObject({ confirmed: true, replayed: true });
    expect(messages.runs).toHaveLength(1);
  });

  function crash(): never {
    throw new Error('the process is gone');
  }
});

/** Returns any file that may be sent. */
function anyFile(): string {
  return join(process.cwd(), 'package.json');
}

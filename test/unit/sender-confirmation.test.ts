import { getEventListeners } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { rowOffset } from '../../src/core/model/offset.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { eventually } from '../support/eventually.ts';
import { failed } from '../support/in-memory-messages.ts';
import { folder, idle, obedient, setUp } from '../support/sender-fixture.ts';

test('a row id that was a sent message’s before chat.db was replaced can be the next one’s', async () => {
  const database = openStateDatabase(join(folder, 'replaced.db'));
  const fixture = setUp({ sentParts: sentPartStore(database) });
  const { chat, clock, confirmations, send } = fixture;
  obedient(fixture);
  const cursors = cursorStore(database, [{ replaced: () => confirmations.restart() }]);
  cursors.save({ offset: rowOffset(0), guid: null, inode: '1' });
  expect(await send()).toMatchObject({ confirmed: true, message: { id: '1' } });
  chat.rows.length = 0;
  cursors.restart({ offset: rowOffset(0), guid: null, inode: '2' });
  const again = send();
  await clock.advance(3000);
  expect(await again).toMatchObject({ confirmed: true, message: { id: '1' } });
});

test('a wait leaves nothing at the signal that could have ended it', async () => {
  const { clock, confirmations } = setUp();
  const { signal } = new AbortController();
  const waiting = confirmations.until(() => false, signal, 100);
  await clock.advance(100);
  await waiting;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
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

  test('is never an old message that iCloud adds again', async () => {
    const { clock, chat, send } = setUp();
    const sending = send();
    await idle();
    for (const datedMs of [Date.UTC(2024, 4, 1), clock.now() - 3000]) chat.add({ body: 'hello', datedMs });
    await clock.advance(3000);
    expect(await sending).toMatchObject({ confirmed: false });
  });

  test.each([-3_600_000, 3_600_000])(
    'is found though the clock is set by %i ms before Messages dates it',
    async (ms) => {
      const { clock, chat, send } = setUp();
      const sending = send();
      await idle();
      clock.step(ms);
      const rowId = chat.add({ body: 'hello' });
      await clock.advance(25);
      expect((await sending).message.id).toBe(String(rowId));
    },
  );

  test('stays its own when iCloud adds an old message like it a moment later', async () => {
    const world = setUp();
    obedient(world);
    await world.sender.start();
    await world.send({ requestId: 'r-1' });
    world.chat.add({ body: 'hello', datedMs: Date.UTC(2024, 4, 1) });
    await world.clock.advance(1000);
    expect(world.sentParts.ofRow(1)).toMatchObject({ requestId: 'r-1' });
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
  ])('has the same text except for line ends and placeholders (%#)', async (sent, stored) => {
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

  test('is not one from before the run, though an earlier send still waits for its own', async () => {
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

  test('that never came does not cost an equal text its row forever', async () => {
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
    world.messages.endWith(failed(-43));
    await expect(world.send()).rejects.toMatchObject({ code: 'send_failed' });
    obedient(world);
    expect((await world.send()).confirmed).toBe(true);
  });
});

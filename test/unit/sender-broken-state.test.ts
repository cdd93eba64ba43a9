import { expect, test } from '@jest/globals';
import type { SentPartStore } from '../../src/core/model/ports/sent-parts-ports.ts';
import { idle, newSentParts, obedient, photo, setUp } from '../support/sender-fixture.ts';

const broken = (): never => {
  throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
};
const errorOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

test('a send is confirmed by its row while state.db cannot be read, and so is one whose row is late', async () => {
  const sentParts: SentPartStore = { ...newSentParts(), ofRow: broken };
  const world = setUp({ sentParts });
  const { chat, clock, log, messages, send } = world;
  const late = send({ body: 'late' });
  await idle();
  await clock.advance(3000);
  expect(await late).toMatchObject({ confirmed: false });
  chat.add({ body: 'late' });
  await clock.advance(1000);
  expect(sentParts.part(1)).toMatchObject({ rowId: 1 });
  obedient(world);
  expect(await send()).toMatchObject({ confirmed: true, message: { body: 'hello' } });
  expect(messages.runs).toHaveLength(2);
  expect(log.lines).toContainEqual(expect.objectContaining({ fields: { code: 'SQLITE_IOERR' } }));
});

test.each([
  ['while Messages is asked for the first part', 1, undefined],
  ['while Messages is asked for a later part', 2, ['/body']],
])('an unexpected error %s leaves the outcome unknown', async (_, part, sent) => {
  const world = setUp();
  obedient(world);
  const { behave } = world.messages;
  world.messages.behave = (...run) => (world.messages.runs.length === part ? broken() : behave(...run));
  const error = await errorOf(world.send({ attachments: [photo] }));
  expect(error).toMatchObject({ code: 'send_outcome_unknown', extra: sent === undefined ? {} : { parts_sent: sent } });
});

test('an unexpected error of the last check is reported as it is, unless a part has been sent', async () => {
  const first = setUp();
  expect(await errorOf(first.send({ check: broken }))).toMatchObject({ code: 'SQLITE_IOERR' });
  expect(first.messages.runs).toEqual([]);
  const later = setUp();
  obedient(later);
  const check = (): void => void (later.messages.runs.length === 1 && broken());
  expect(await errorOf(later.send({ attachments: [photo], check }))).toMatchObject({
    code: 'send_outcome_unknown',
    extra: { parts_sent: ['/body'] },
  });
});

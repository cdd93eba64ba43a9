import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { SenderParts } from '../../src/core/sender/sender.ts';
import { eventually } from '../support/eventually.ts';
import { failed } from '../support/in-memory-messages.ts';
import { folder, idle, photo, setUp } from '../support/sender-fixture.ts';

describe('an attachment that is exchanged while its send waits', () => {
  /** Returns rules that tell when a check reads them a second time: by then it has looked at the file. */
  const watchedRules = (): { readonly rules: SenderParts['attachments']; readonly looks: () => number } => {
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

  test('continues after a failure', async () => {
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

  test('refuses what waits at once and lets the running send continue', async () => {
    const world = setUp();
    let release = (): void => {};
    world.messages.behave = () =>
      new Promise((resolve) => {
        release = () => resolve({ kind: 'done' });
      });
    const running = world.send();
    const waiting = world.send({ idempotencyKey: { kind: 'client', key: 'k' } });
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
    const running = world.send({ idempotencyKey: { kind: 'client', key: 'k' }, attachments: [photo] });
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

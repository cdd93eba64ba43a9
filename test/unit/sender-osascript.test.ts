import { getEventListeners } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import type { MessagesApp, RunOutcome, SendPart } from '../../src/core/model/ports/sending-ports.ts';
import { osascript } from '../../src/core/sender/osascript.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeExecutable } from '../support/fake-osascript.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const part: SendPart = {
  recipient: '+15550100',
  chatId: 'any;-;+15550100',
  service: 'iMessage',
  content: { body: 'hello' },
};

function setUp(): {
  fake: FakeExecutable;
  clock: FakeClock;
  messages: MessagesApp;
  readonly run: (of?: Partial<SendPart>) => Promise<RunOutcome>;
} {
  const fake = new FakeExecutable(folder);
  const clock = new FakeClock();
  const messages = osascript({ path: fake.path, clock });
  return { fake, clock, messages, run: (of = {}) => messages.run({ ...part, ...of }, new AbortController().signal) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('one run of osascript', () => {
  test('gets the constant script as its only argument and the data in an environment with nothing else in it', async () => {
    const { fake, run } = setUp();
    expect(await run()).toEqual({ kind: 'done' });
    const [recorded] = fake.runs();
    expect(recorded?.argv).toEqual([expect.stringMatching(/^\/.*\/src\/core\/sender\/send\.applescript$/)]);
    expect(recorded?.stdinIsEmpty).toBe(true);
    expect(recorded?.env).toEqual({
      LANG: 'en_US.UTF-8',
      POSTERN_RECIPIENT: '+15550100',
      POSTERN_CHAT_ID: 'any;-;+15550100',
      POSTERN_SERVICE: 'iMessage',
      POSTERN_BODY: 'hello',
    });
  });

  test('is over with the program itself, not with what that leaves running', async () => {
    const path = join(folder, 'leaves-a-child');
    writeFileSync(path, '#!/bin/sh\nsleep 60 &\necho "execution error: no (-1728)" >&2\nexit 1\n');
    chmodSync(path, 0o755);
    const clock = new FakeClock();
    const running = osascript({ path, clock }).run(part, new AbortController().signal);
    // One timer limits the run, another the wait for the rest of its output.
    await eventually(() => expect(clock.pending).toBe(2));
    await clock.advance(250);
    expect(await running).toMatchObject({ kind: 'failed', number: -1728 });
    expect(clock.pending).toBe(0);
  });

  test('gets an attachment by its path, and no body', async () => {
    const { fake, run } = setUp();
    await run({ content: { attachment: '/tmp/a "b" ü.png' }, chatId: null, service: null });
    expect(fake.runs()[0]?.env).toEqual({
      LANG: 'en_US.UTF-8',
      POSTERN_RECIPIENT: '+15550100',
      POSTERN_CHAT_ID: '',
      POSTERN_SERVICE: '',
      POSTERN_ATTACHMENT: '/tmp/a "b" ü.png',
    });
  });

  test.each([
    'line one\nline two\r\nthree\rfour\n',
    '"; do shell script "rm -rf /" --\\" \' $(id) `id` %s $HOME',
    'ü ß 漢字 🙂 👩‍👩‍👧‍👦 \u2028 \u0007 \t end',
    'x'.repeat(20_000),
    '漢'.repeat(20_000),
  ])('hands over the body byte for byte (%#)', async (body) => {
    const { fake, run } = setUp();
    expect(await run({ content: { body } })).toEqual({ kind: 'done' });
    expect(fake.runs()[0]?.env.POSTERN_BODY).toBe(body);
  });

  test.each([
    [-1743, 'execution error: Not authorized to send Apple events to Messages. (-1743)'],
    [-1743, 'execution error: Nicht berechtigt, Apple-Events an Nachrichten zu senden. (-1743)'],
    [-600, '/x/send.applescript:1:2: execution error: Messages got an error: Application isn’t running. (-600)'],
    [-600, 'execution error: メッセージでエラーが起きました: アプリケーションが実行されていません。 (-600)'],
    [-1728, 'execution error: Can’t get chat id "any;-;(5) (-600)". (-1728)'],
    [-1728, 'execution error: chat id "x"を取り出すことはできません。（-1728）'],
    [-1712, 'execution error: Das Zeitlimit für AppleEvent wurde überschritten. (-1712)\n'],
    [1, 'execution error: Can not send message to a chat you are not a member of (1)'],
    [null, 'something else went wrong'],
    [null, ''],
  ])('finds the number %p in the last parentheses, whatever the language', async (number, stderr) => {
    const { fake, run } = setUp();
    fake.plan({ exit: 1, stderr });
    expect(await run()).toEqual({ kind: 'failed', number, message: stderr.trimEnd() });
  });

  test('keeps only the end of what it prints', async () => {
    const { fake, run } = setUp();
    fake.plan({ exit: 1, stderr: `${'(-1) '.repeat(400_000)}\nend (-609)\n` });
    const outcome = await run();
    expect(outcome).toEqual({ kind: 'failed', number: -609, message: 'end (-609)' });
  });

  test('is killed with its whole group after 30 s, and its outcome is unknown', async () => {
    const { fake, clock, run } = setUp();
    fake.plan({ hang: true });
    const running = run();
    const recorded = await waitFor(() => fake.runs()[0]);
    await clock.advance(29_999);
    expect(isAlive(recorded.pid)).toBe(true);
    await clock.advance(1);
    expect(await running).toEqual({ kind: 'killed' });
    await eventually(() => {
      expect(isAlive(recorded.pid)).toBe(false);
      expect(isAlive(recorded.childPid ?? 0)).toBe(false);
    });
    expect(clock.pending).toBe(0);
  });

  test('is killed at a stop', async () => {
    const { fake, messages } = setUp();
    fake.plan({ hang: true });
    const stop = new AbortController();
    const running = messages.run(part, stop.signal);
    const recorded = await waitFor(() => fake.runs()[0]);
    stop.abort();
    expect(await running).toEqual({ kind: 'killed' });
    await eventually(() => expect(isAlive(recorded.childPid ?? 0)).toBe(false));
  });

  test('is forgotten once it is over, so that a later stop kills no process with the same number', async () => {
    const { messages } = setUp();
    const { signal } = new AbortController();
    await messages.run(part, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('that dies of a signal may have sent', async () => {
    const { fake, run } = setUp();
    fake.plan({ signal: 'SIGABRT' });
    expect(await run()).toEqual({ kind: 'killed' });
  });

  test('that cannot be started says why', async () => {
    const clock = new FakeClock();
    const signal = new AbortController().signal;
    const missing = osascript({ path: join(folder, 'missing'), clock });
    expect(await missing.run(part, signal)).toEqual({ kind: 'not_started', message: 'ENOENT' });
    const { fake, run } = setUp();
    chmodSync(fake.path, 0o644);
    expect(await run()).toEqual({ kind: 'not_started', message: 'EACCES' });
    expect(await missing.run({ ...part, recipient: 'a\0b' }, signal)).toMatchObject({ kind: 'not_started' });
    expect(clock.pending).toBe(0);
  });
});

test('a run tells the permission what macOS decided, if it did', async () => {
  const { fake, clock } = setUp();
  const noted: string[] = [];
  const permission = {
    noteAnswer: () => void noted.push('answer'),
    noteRefusal: () => void noted.push('refusal'),
    isAsking: async () => false,
  };
  const messages = osascript({ path: fake.path, clock, permission });
  for (const number of [-1743, -1744, -1728]) {
    fake.plan({ exit: 1, stderr: `execution error: no (${number})` });
    await messages.run(part, new AbortController().signal);
  }
  fake.plan({});
  await messages.run(part, new AbortController().signal);
  expect(noted).toEqual(['refusal', 'refusal', 'answer']);
});

describe('opening Messages', () => {
  const { signal } = new AbortController();
  const notRunning = { exit: 1, stderr: 'execution error: Messages is not running. (-600)' };
  /** Lets every pause pass, but no run, until the work is done. */
  const passPauses = async (clock: FakeClock, path: string): Promise<void> => {
    let pauseMs = 0;
    const watched: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after(ms, run) {
        if (ms === 300 || ms === 1000) pauseMs = ms;
        return clock.after(ms, run);
      },
    };
    let isOver = false;
    const opening = osascript({ path, clock: watched })
      .open(signal)
      .then(() => {
        isOver = true;
      });
    await waitFor(async () => {
      const ms = pauseMs;
      pauseMs = 0;
      await clock.advance(ms);
      return isOver;
    });
    await opening;
  };

  test('runs the `open` beside osascript, waits until Messages is up, and gives it a second', async () => {
    const { fake, clock } = setUp();
    const opener = new FakeExecutable(folder, 'open', fake.folder);
    fake.plan(...Array<typeof notRunning>(5).fill(notRunning));
    await passPauses(clock, fake.path);
    expect(opener.runs()[0]?.argv).toEqual(['-gjb', 'com.apple.MobileSMS']);
    expect(opener.runs()[0]?.env).toEqual({ LANG: 'en_US.UTF-8' });
    expect(fake.runs()).toHaveLength(6);
    expect(clock.monotonic()).toBe(5 * 300 + 1000);
    // The script that sends nothing reports whether Messages is running.
    expect(fake.runs()[0]?.env).toEqual({ LANG: 'en_US.UTF-8' });
    expect(clock.pending).toBe(0);
  });

  test('continues at once where there is no `open`, or it fails', async () => {
    const { fake, clock, messages } = setUp();
    await messages.open(signal);
    new FakeExecutable(folder, 'open', fake.folder).plan({ exit: 1, stderr: 'no' });
    await messages.open(signal);
    expect(clock.pending).toBe(0);
    expect(fake.runs()).toEqual([]);
  });

  test('waits at most 10 s for the program `open`', async () => {
    const { fake, clock, messages } = setUp();
    const opener = new FakeExecutable(folder, 'open', fake.folder);
    opener.plan({ hang: true });
    const opening = messages.open(signal);
    await eventually(() => expect(opener.runs().length).toBe(1));
    await clock.advance(10_000);
    await opening;
  });

  test('waits at most 10 s for Messages', async () => {
    const { fake, clock } = setUp();
    new FakeExecutable(folder, 'open', fake.folder);
    // It runs 34 times, and a shell starts more quickly than Node.
    writeFileSync(fake.path, `#!/bin/sh\necho '${notRunning.stderr}' >&2\nexit ${notRunning.exit}\n`);
    await passPauses(clock, fake.path);
    expect(clock.monotonic()).toBe(9900);
    expect(clock.pending).toBe(0);
  });

  test('ends with the signal', async () => {
    const { fake, clock, messages } = setUp();
    new FakeExecutable(folder, 'open', fake.folder);
    fake.plan(notRunning);
    const stop = new AbortController();
    const opening = messages.open(stop.signal);
    await eventually(() => {
      expect(fake.runs().length).toBe(1);
      expect(clock.pending).toBe(1);
    });
    stop.abort();
    await opening;
    await eventually(() => expect(clock.pending).toBe(0));
  });
});

describe('the chats of Messages’ own list', () => {
  test('are what the constant script prints, one a line', async () => {
    const { fake, messages } = setUp();
    const { signal } = new AbortController();
    fake.plan({ stdout: 'any;-;+15550100\nany;+;chat7\n' });
    expect(await messages.liveChatIds(signal)).toEqual(['any;-;+15550100', 'any;+;chat7']);
    expect(fake.runs()[0]?.argv).toEqual([expect.stringMatching(/\/src\/core\/sender\/chats\.applescript$/)]);
    expect(fake.runs()[0]?.env).toEqual({ LANG: 'en_US.UTF-8' });
    fake.plan({ exit: 1, stdout: 'any;+;chat7\n', stderr: 'execution error: no (-1743)' });
    expect(await messages.liveChatIds(signal)).toEqual([]);
  });
});

test('a script that is not a program is a failure without a number or a start that failed', async () => {
  const path = join(folder, 'not-a-program');
  writeFileSync(path, 'hello', { mode: 0o755 });
  const outcome = await osascript({ path, clock: new FakeClock() }).run(part, new AbortController().signal);
  expect(['not_started', 'failed']).toContain(outcome.kind);
});

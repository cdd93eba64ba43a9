import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Publisher } from '../../src/core/log/publisher.ts';
import { askAutomation } from '../../src/core/mac/automation.ts';
import type { PermissionReport } from '../../src/core/model/ports/permissions-ports.ts';
import { AwakeClock } from '../../src/core/runtime/awake-clock.ts';
import { type CommandResult, commandRunner } from '../../src/core/runtime/command.ts';
import { eventPipeline, ids, nothing } from '../support/event-pipeline.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeExecutable } from '../support/fake-osascript.ts';
import { collectingLog } from '../support/log.ts';
import { arrival } from '../support/memory-log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const HOUR_MS = 3_600_000;
const folder = temporaryFolder();

function build(clock = new FakeClock()) {
  const log = collectingLog();
  const awake = new AwakeClock(clock, log);
  awake.start();
  return { clock, awake, log };
}

/**
 * Ways to let the service sleep for an hour: on a clock that keeps running (macOS, SIGSTOP) or stands still (Linux).
 */
const SLEEPS = [
  ['runs on', (clock: FakeClock) => clock.pause(HOUR_MS)],
  ['stands still', (clock: FakeClock) => clock.step(HOUR_MS)],
] as const;

describe.each(SLEEPS)('on a monotonic clock that %s during sleep', (_, sleep) => {
  test('a limit has the time after the wake that it had left, to a second', async () => {
    const { clock, awake } = build();
    let endedAtMs: number | undefined;
    awake.after(20_000, () => {
      endedAtMs = awake.monotonic();
    });
    await clock.advance(10_000);
    sleep(clock);
    await clock.advance(0);
    expect(awake.monotonic()).toBeLessThanOrEqual(11_000);
    await clock.advance(8999);
    expect(endedAtMs).toBeUndefined();
    await clock.advance(1001);
    expect(endedAtMs).toBe(20_000);
  });

  test('a limit that was taken back stays so', async () => {
    const { clock, awake } = build();
    let ran = 0;
    const cancel = awake.after(5000, () => {
      ran += 1;
    });
    sleep(clock);
    await clock.advance(0);
    cancel();
    await clock.advance(HOUR_MS);
    expect(ran).toBe(0);
  });

  test('a script that was running is not killed at the wake', async () => {
    const { clock, awake } = build();
    let result: CommandResult | undefined;
    const running = commandRunner({ PATH: process.env.PATH }, awake)('sleep', ['1000'], { timeoutMs: 30_000 });
    void running.then((ended) => {
      result = ended;
    });
    await clock.advance(10_000);
    sleep(clock);
    await clock.advance(18_000);
    expect(result).toBeUndefined();
    await clock.advance(2000);
    expect((await running).trouble).toBe('time_limit');
  });

  test('a dialog that was waiting for the person is not taken away at the wake', async () => {
    const { clock, awake } = build();
    const osascript = new FakeExecutable(folder, 'osascript');
    osascript.plan({ waitsForFile: join(folder, 'never') });
    let report: PermissionReport | undefined;
    const { signal } = new AbortController();
    const asked = askAutomation({ osascriptPath: osascript.path, clock: awake, signal });
    void asked.then((answer) => {
      report = answer;
    });
    await clock.advance(60_000);
    sleep(clock);
    await clock.advance(545_000);
    expect(report).toBeUndefined();
    await clock.advance(5000);
    expect((await asked).detail).toMatch(/did not answer in time/);
  });

  test('a row that was settling is not published without its chat at the wake', async () => {
    const { messages, cursor, clock, channel, log, feed } = eventPipeline();
    const { awake } = build(clock);
    const publisher = new Publisher({ messages, channel, cursor, clock: awake, log });
    publisher.start();
    publisher.publishPending();
    await clock.advance(0);
    const reader = feed.live(nothing);
    messages.add(arrival(1, { isIncomplete: true }));
    publisher.publishPending();
    await clock.advance(500);
    sleep(clock);
    await clock.advance(400);
    expect(reader.take(10).entries).toEqual([]);
    await clock.advance(1600);
    expect(ids(reader.take(10).entries)).toEqual([1]);
    await publisher.close();
  });
});

test('sleeps are counted, with the longest in seconds', async () => {
  const { clock, awake } = build();
  expect(awake.sleepGaps).toEqual({ count: 0, longest_s: 0 });
  for (const ms of [61_000, HOUR_MS, 11_000]) {
    clock.pause(ms);
    await clock.advance(5000);
  }
  // The beat that was due during a sleep does not count towards the gap.
  expect(awake.sleepGaps).toEqual({ count: 3, longest_s: HOUR_MS / 1000 - 1 });
});

test('a busy machine is no sleep', async () => {
  const { clock, awake, log } = build();
  clock.pause(5900);
  await clock.advance(0);
  expect(awake.monotonic()).toBe(5900);
  expect(awake.sleepGaps.count).toBe(0);
  expect(log.lines).toEqual([]);
});

test('a sleep is logged once, and no timer is left behind', async () => {
  const { clock, awake, log } = build();
  await clock.advance(3000);
  clock.pause(HOUR_MS);
  await clock.advance(60_000);
  expect(log.lines).toHaveLength(1);
  awake.close();
  expect(clock.pending).toBe(0);
});

import { describe, expect, test } from '@jest/globals';
import { droppedWarnings, type StatusReport, type WebhookSummary } from '../../src/core/model/status.ts';
import { Cleanup } from '../../src/core/runtime/cleanup.ts';
import { openStatus, type StatusParts } from '../../src/core/status/open-status.ts';
import { ProblemLog, problemsIn } from '../../src/core/status/problem-log.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';

const found = (code: string, hint = 'why') => ({ code, subject: null, hint });

describe('problems', () => {
  test('keep their beginning while they last, show the newest hint, and end when they are gone', () => {
    const log = new ProblemLog();
    log.note([found('a', 'first')], '1');
    log.note([found('a', 'second'), found('b')], '2');
    log.note([found('b')], '3');
    expect(log.list()).toEqual([
      { ...found('b'), since: '2', until: null },
      { ...found('a', 'second'), since: '1', until: '3' },
    ]);
    log.note([found('a')], '4');
    expect(log.list().map(({ code, since }) => code + since)).toEqual(['a4', 'b2', 'a1']);
  });

  test('of two webhooks with one name are two problems', () => {
    const log = new ProblemLog();
    const held = { ...found('webhook_held'), subject: 'same' };
    log.note(
      [
        { ...held, key: '1' },
        { ...held, key: '2' },
      ],
      '1',
    );
    log.note([{ ...held, key: '2' }], '2');
    expect(log.list().map(({ until }) => until)).toEqual([null, '2']);
  });

  test('of webhooks that dropped name the webhook', () => {
    const dropped = [
      { id: 'w1', name: 'Door', origin: 'http://a', dropped: 3 },
      { id: 'w2', origin: 'http://b', dropped: 1 },
      { id: 'w3', origin: 'http://c' },
    ].map((one) => ({ ...one, state: 'healthy', consecutive_failures: 0, last_error: null }) as WebhookSummary);
    const report = { backend: { connected: true, message: null }, permissions: [], webhooks: dropped };
    const found = problemsIn({ ...report, warnings: droppedWarnings(dropped) } as unknown as StatusReport);
    expect(found).toMatchObject([
      { code: 'webhook_dropped', subject: 'Door', key: 'w1', hint: expect.stringContaining('replay w1 --dropped') },
      { code: 'webhook_dropped', subject: 'http://b', key: 'w2' },
    ]);
  });

  test('that come and go all night fill neither the memory nor the list, and hide none that lasts', () => {
    const log = new ProblemLog();
    for (let minute = 0; minute < 500; minute += 1) {
      log.note(minute % 2 === 0 ? [found('lasts'), found('flaps')] : [found('lasts')], String(minute));
    }
    const all = log.list();
    expect(all.filter(({ code }) => code === 'flaps')).toHaveLength(20);
    expect(all[0]).toMatchObject({ code: 'flaps', since: '498', until: '499' });
    expect(all.at(-1)).toEqual({ ...found('lasts'), since: '0', until: null });
  });
});

describe('the status', () => {
  const setUp = () => {
    const clock = new FakeClock();
    const log = collectingLog();
    const now = { connected: true, message: null as string | null, isBroken: false };
    const parts: StatusParts = {
      ...{ version: '1', clock, abilities: () => ({ capabilities: {}, operations: [] }), members: () => [] },
      database: { health: () => ({ connected: now.connected, message: now.message }) },
      messages: {
        newest: () => {
          throw new Error('away');
        },
      } as unknown as StatusParts['messages'],
      publisher: { lastPublished: { rowId: 1, atMs: undefined } },
      webhooks: {
        list() {
          if (now.isBroken) throw new Error('disk I/O error');
          return [];
        },
      } as unknown as StatusParts['webhooks'],
      permissions: { known: [], answer: undefined } as unknown as StatusParts['permissions'],
    };
    const closers = new Cleanup(log);
    return { clock, log, now, closers, status: openStatus(parts, closers, log) };
  };

  test('reports a failure of the night that nobody looked at', async () => {
    const { clock, now, status } = setUp();
    Object.assign(now, { connected: false, message: 'It cannot be opened.' });
    await clock.advance(60_000);
    Object.assign(now, { connected: true, message: null });
    await clock.advance(3 * 60_000);
    expect(status.report().problems).toEqual([
      {
        code: 'chat_db_unavailable',
        since: '2026-01-02T03:05:05Z',
        until: '2026-01-02T03:06:05Z',
        subject: null,
        hint: 'It cannot be opened.',
      },
    ]);
  });

  test('continues to look for problems after a failure, and ends with the service', async () => {
    const { clock, log, now, closers, status } = setUp();
    now.isBroken = true;
    await clock.advance(60_000);
    expect(log.lines).toMatchObject([{ message: 'could not look for problems' }]);
    Object.assign(now, { isBroken: false, connected: false });
    await clock.advance(60_000);
    expect(status.report().problems).toMatchObject([{ since: '2026-01-02T03:06:05Z' }]);
    await closers.close();
    expect(clock.pending).toBe(0);
  });
});

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { auditStore } from '../../src/features/access/state/audit-store.ts';
import { AccessSending, ANA, approvalsOf, codeOf } from '../support/access-sending.ts';
import { temporaryFolder } from '../support/temporary.ts';

const HOUR_MS = 3_600_000;
let service: AccessSending;
beforeEach(() => {
  service = new AccessSending(temporaryFolder());
});
afterEach(() => service.close());

const idOf = (caller: Caller): string => caller.key?.id ?? '';
const entry = (event: unknown): LogEntry =>
  ({ offset: { rowId: 1, change: 0 }, rowId: 1, guid: 'G', event }) as LogEntry;

describe('a key that has ended', () => {
  test('calls a listener that is added later at once, which closes a WebSocket that was still being opened', () => {
    const caller = service.caller();
    service.access.keys.revoke(idOf(caller));
    let ends = 0;
    caller.onEnd?.(() => {
      ends += 1;
    });
    expect(ends).toBe(1);
    expect(() => caller.assertAlive?.()).toThrow(expect.objectContaining({ code: 'unauthorized' }));
  });

  test('because its owner moved its end into the past has its connections closed', () => {
    const caller = service.caller();
    let ends = 0;
    caller.onEnd?.(() => {
      ends += 1;
    });
    service.access.keys.change(idOf(caller), { dry_run: true });
    expect(ends).toBe(0);
    service.access.keys.change(idOf(caller), { expires_at: new Date(service.clock.now() - HOUR_MS).toISOString() });
    expect(ends).toBe(1);
  });

  test('receives no more events, even where nobody closed its connection', async () => {
    const soon = new Date(service.clock.now() + HOUR_MS).toISOString();
    const caller = service.caller({ scopes: ['events'], read: '*', expires_at: soon });
    const event = entry({ type: 'message.received', data: { conversation_id: `any;-;${ANA}` } });
    expect(caller.feed.admits(event)).toBe(true);
    await service.clock.advance(HOUR_MS);
    expect(caller.feed.admits(event)).toBe(false);
  });

  test.each(['made with', 'changed to'])(
    'ends at the time that it was %s its connections and webhooks',
    async (how) => {
      const expires_at = new Date(service.clock.now() + 30_000).toISOString();
      const caller = service.caller({ expires_at: how === 'made with' ? expires_at : null });
      if (how === 'changed to') service.access.keys.change(idOf(caller), { expires_at });
      const ended: unknown[] = [];
      caller.onEnd?.(() => void ended.push('connection'));
      service.guests.onChange(({ keyId, isAlive }) => void ended.push([keyId, isAlive]));
      await service.clock.advance(29_999);
      expect(ended).toEqual([]);
      await service.clock.advance(1);
      expect(ended).toEqual(['connection', [idOf(caller), false]]);
    },
  );

  test('while the Mac slept has its connections closed within a minute of waking', async () => {
    const caller = service.caller({ expires_at: new Date(service.clock.now() + HOUR_MS).toISOString() });
    const ended: unknown[] = [];
    caller.onEnd?.(() => void ended.push('connection'));
    // Timers stand still during sleep.
    service.clock.step(HOUR_MS);
    await service.clock.advance(60_000);
    expect(ended).toEqual(['connection']);
  });

  test('is refused what it was waiting for', async () => {
    const decider = service.caller({ scopes: ['approve'] });
    const codes: string[] = [];
    void codeOf(approvalsOf(decider).list({ state: 'held', waitMs: 50_000 })).then((code) => codes.push(code));
    service.access.keys.revoke(idOf(decider));
    await service.clock.advance(0);
    expect(codes).toEqual(['unauthorized']);
  });

  test('loses its uploads when it is revoked', async () => {
    const caller = service.caller();
    async function* content(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a file');
    }
    await caller.uploads.add({ name: 'a.txt', mimeType: undefined, content: content() });
    expect(service.uploads.bytes).toBe(6);
    service.access.keys.revoke(idOf(caller));
    expect(service.uploads.bytes).toBe(0);
  });

  test('keeps its name after it was revoked, and reports what ended with it', async () => {
    const caller = service.caller({ approval: 'always' });
    await service.hold(caller);
    const id = idOf(caller);
    expect(service.access.keys.revoke(id)).toEqual({ id, scheduled_cancelled: 0, approvals_voided: 1 });
    expect(service.access.keys.list().map((key) => key.id)).not.toContain(id);
    const [revoked] = service.access.keys.revoked();
    expect(revoked).toMatchObject({ id, name: 'test', revoked_at: expect.stringMatching(/^\d{4}-/), closed: [] });
    expect(JSON.stringify(revoked)).not.toContain('hash');
  });

  test('can be revoked when one of its held sends has expired unnoticed', async () => {
    const caller = service.caller({ approval: 'always' });
    const { id } = await service.hold(caller);
    await service.clock.advance(25 * HOUR_MS);
    service.access.keys.revoke(idOf(caller));
    expect((await service.approvals.get(id, 0)).state).toBe('expired');
  });
});

test('a key ends after 90 days unless its owner says otherwise', () => {
  const endOf = (caller: Caller) => service.access.keys.get(idOf(caller)).expires_at;
  expect(Date.parse(endOf(service.caller()) ?? '')).toBe(service.clock.now() + 90 * 24 * HOUR_MS);
  expect(endOf(service.caller({ expires_at: null }))).toBeNull();
});

test('there are at most 1000 keys', () => {
  service.state.transaction(() => {
    for (let made = 0; made < 1000; made += 1) service.caller();
    expect(() => service.caller()).toThrow(expect.objectContaining({ code: 'too_many_keys' }));
  });
});

test('the last use of a key survives a restart', async () => {
  const id = idOf(service.caller());
  service = await service.restarted();
  expect(service.access.keys.get(id).last_used_at).toBe(
    new Date(service.clock.now()).toISOString().replace('.000Z', 'Z'),
  );
});

test('a secret that was replaced opens its key for a day', async () => {
  const { keys } = service.access;
  const { id, key: replaced } = keys.add({ name: 'test', preset: 'reader', settings: {} });
  const { key: secret } = keys.rotate(id);
  await service.clock.advance(24 * HOUR_MS - 1);
  expect(service.access.find(replaced)?.key?.id).toBe(id);
  await service.clock.advance(1);
  expect(service.access.find(replaced)).toBeUndefined();
  expect(service.access.find(secret)?.key?.id).toBe(id);
});

describe('a key that is revoked while the files of a send are copied', () => {
  const hour = { sendAtMs: HOUR_MS, sendUntilMs: 2 * HOUR_MS };

  test.each([
    ['held', { approval: 'always' as const }, {}],
    ['scheduled', {}, hour],
  ])('leaves no %s send, and no copies', async (_state, settings, times) => {
    await service.close();
    const outbox = temporaryFolder();
    writeFileSync(join(outbox, 'a.txt'), 'a file');
    service = new AccessSending(temporaryFolder(), { roots: [outbox] });
    const caller = service.caller(settings);
    const { files } = service;
    const copy = files.copy.bind(files);
    const copied: string[] = [];
    files.copy = async (id, ...given) => {
      const kept = await copy(id, ...given);
      copied.push(...(await files.paths(id, kept)));
      service.access.keys.revoke(idOf(caller));
      return kept;
    };
    const nowMs = service.clock.now();
    const later = Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, nowMs + ms]));
    const request = { attachments: [join(outbox, 'a.txt')], ...later };
    expect(await codeOf(service.send(caller, request))).toBe('recipient_not_allowed');
    expect(await service.approvals.list({ state: 'held', waitMs: 0 })).toEqual([]);
    expect(service.scheduler.openIds()).toEqual([]);
    expect(copied.map((path) => existsSync(path))).toEqual([false]);
  });
});

test('every key receives a summary of many changes, without which its copy would stay wrong', () => {
  const caller = service.caller({ scopes: ['events'], read: [ANA] });
  const data = { first_id: '1', last_id: '9', count: 1001 };
  expect(caller.feed.admits(entry({ type: 'messages.changed', data }))).toBe(true);
  expect(caller.feed.admits(entry({ type: 'message.removed', data: { id: '1', guid: '', conversation_id: '' } }))).toBe(
    false,
  );
});

test.each([
  ['dry_run', { sendAtMs: HOUR_MS, sendUntilMs: 2 * HOUR_MS }], // both are removed before all others
  ['sent', {}],
])('the sends that caps count stay, however many other lines there are: %s', async (outcome, times) => {
  const caller = service.caller({ caps: { per_day: 1, per_minute: 60 } });
  const nowMs = service.clock.now();
  await service.send(caller, Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, nowMs + ms])));
  const store = auditStore(service.state);
  service.state.exec('BEGIN');
  for (let count = 0; count < 100_001; count += 1) {
    store.add({ keyId: idOf(caller), action: 'send', outcome }, service.clock.now());
  }
  service.state.exec('COMMIT');
  store.trim(service.clock.now());
  expect(service.state.prepare('SELECT count(*) FROM audit').get()?.[0]).toBeLessThan(100_005);
  expect(await codeOf(service.send(caller, { body: 'another' }))).toBe('cap_reached');
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import type { Sqlite } from '../../src/core/runtime/sqlite.ts';
import type { AuditNote } from '../../src/features/access/ports.ts';
import { auditStore } from '../../src/features/access/state/audit-store.ts';
import { SCHEDULED } from '../../src/features/scheduled/port.ts';
import { AccessSending, ANA, BEN, codeOf } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
import { failed } from '../support/in-memory-messages.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MAX_ROWS = 100_000;
let service: AccessSending;
beforeEach(() => {
  service = new AccessSending(temporaryFolder());
});
afterEach(() => service.close());

/** Writes `count` equal lines. */
function fill(count: number, { keyId, action, outcome, target = null }: AuditNote): void {
  const insert = service.state.prepare(
    `WITH RECURSIVE line (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM line WHERE n < ?)
     INSERT INTO audit (at_ms, key_id, action, target, outcome, count, is_new) SELECT ?, ?, ?, ?, ?, 1, 0 FROM line`,
  );
  insert.run(count, service.clock.now(), keyId, action, target, outcome);
}

function lines(): readonly (readonly [string, string, string | null, number])[] {
  return service.access.audit
    .list({ limit: 1000 })
    .map(({ action, outcome, target, count }) => [action, outcome, target, count]);
}

describe('dry runs in a loop', () => {
  test('write one line for each target and minute', async () => {
    const caller = service.caller({ send: [ANA, BEN] });
    for (let run = 0; run < 2900; run += 1) {
      await service.send(caller, { recipient: run % 2 === 0 ? ANA : BEN, body: `text ${run}`, dryRun: true });
    }
    await service.clock.advance(60_000);
    await service.send(caller, { dryRun: true });
    expect(lines().filter(([, outcome]) => outcome === 'dry_run')).toEqual([
      ['send', 'dry_run', `any;-;${ANA}`, 1450],
      ['send', 'dry_run', `any;-;${BEN}`, 1450],
      ['send', 'dry_run', `any;-;${ANA}`, 1],
    ]);
  });

  test('carry no hash of one text for all of them', async () => {
    await service.send(service.caller(), { dryRun: true });
    expect(service.access.audit.list({ limit: 10 }).at(-1)).toMatchObject({ outcome: 'dry_run', text_hmac: null });
  });
});

/** Schedules a send and cancels it. Returns the code of the refusal, or `none`. */
async function scheduleAndCancel(caller: Caller, body: string): Promise<string> {
  const sendAtMs = service.clock.now() + 3_600_000;
  return codeOf(
    service.send(caller, { body, sendAtMs, sendUntilMs: sendAtMs }).then((answer) => {
      if (answer.kind !== 'deferred') return;
      const id = answer.deferred.path.replace(/^.*\//, '');
      caller.port(SCHEDULED)?.cancel(id);
    }),
  );
}

describe('scheduling and cancelling in a loop', () => {
  test('counts towards the caps as sends do, and writes one line for each request and one for each outcome', async () => {
    const caller = service.caller({ caps: { per_minute: 100, per_day: 40 } });
    const codes: string[] = [];
    for (let run = 0; run < 50; run += 1) codes.push(await scheduleAndCancel(caller, `text ${run}`));
    expect(codes).toEqual([...Array<string>(40).fill('none'), ...Array<string>(10).fill('cap_reached')]);
    const asked = lines().filter(([, outcome]) => outcome === 'asked');
    expect(asked).toEqual(Array(40).fill(['schedule', 'asked', `any;-;${ANA}`, 1]));
    expect(lines().filter(([action, outcome]) => action !== 'key' && outcome !== 'asked')).toEqual([
      ['schedule', 'scheduled', `any;-;${ANA}`, 40],
      ['schedule', 'cancelled', ANA, 40],
      ['refused', 'cap_reached', ANA, 10],
    ]);
    expect(caller.key && service.access.keys.get(caller.key.id).remaining?.per_day).toBe(0);
    expect(await codeOf(service.send(caller))).toBe('cap_reached');
  });

  test('uses up no cap that the messages need when they are sent', async () => {
    const caller = service.caller({ caps: { per_minute: 2 } });
    const sendAtMs = service.clock.now() + 61_000;
    for (const body of ['one', 'two']) await service.send(caller, { body, sendAtMs, sendUntilMs: sendAtMs + 60_000 });
    service.scheduler.start();
    await service.clock.advance(60_000);
    await eventually(async () => {
      await service.clock.advance(1000);
      expect(service.texts()).toEqual(['one', 'two']);
    });
    expect(service.clock.now()).toBeLessThan(sendAtMs + 60_000);
    const laterMs = service.clock.now() + 1000;
    expect(await codeOf(service.send(caller, { body: 'direct' }))).toBe('cap_reached');
    expect(await codeOf(service.send(caller, { body: 'later', sendAtMs: laterMs, sendUntilMs: laterMs }))).toBe('none');
  });

  test('keeps the newest 10,000 sends beside the one being scheduled', async () => {
    const caller = service.caller();
    await scheduleAndCancel(caller, 'first');
    const columns = service.state.prepare("SELECT name FROM pragma_table_info('scheduled')").all().map(String);
    const copied = columns.filter((name) => name !== 'number' && name !== 'id').join(', ');
    service.state.exec(`WITH RECURSIVE one (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM one WHERE n < 10_005)
      INSERT INTO scheduled (id, ${copied}) SELECT 'copy' || n, ${copied} FROM one, scheduled`);
    await scheduleAndCancel(caller, 'last');
    expect(service.state.prepare('SELECT count(*), min(number) FROM scheduled').get()).toEqual([10_001, 7]);
  });
});

test('a request repeated in a loop while it fails writes one line for each outcome', async () => {
  const caller = service.caller();
  service.messages.behave = () => failed(-600);
  const again = { idempotencyKey: { kind: 'client', key: 'again' } } as const;
  for (let run = 0; run < 30; run += 1) await codeOf(service.send(caller, again));
  const past = { sendAtMs: 1, sendUntilMs: 2, idempotencyKey: { kind: 'client', key: 'past' } } as const;
  for (let run = 0; run < 30; run += 1) expect(await codeOf(service.send(caller, past))).toBe('invalid_request');
  expect(lines().filter(([action]) => action !== 'key')).toEqual([
    ['send', 'asked', `any;-;${ANA}`, 1],
    ['send', 'messages_unavailable', `any;-;${ANA}`, 1],
    ['schedule', 'asked', `any;-;${ANA}`, 1],
    ['refused', 'invalid_request', `any;-;${ANA}`, 30],
  ]);
});

describe('an audit log that is full', () => {
  const DAY_MS = 24 * 3_600_000;

  test.each([
    ['dry runs', 'send', 'dry_run'],
    ['reads', 'read', 'shown'],
    ['events', 'event', 'shown'],
    ['refusals', 'refused', 'rate_limited'],
    ['webhooks', 'webhook', 'registered'],
    ['requests to schedule', 'schedule', 'asked'],
    ['scheduled sends', 'schedule', 'scheduled'],
    ['cancelled sends', 'schedule', 'cancelled'],
  ] as const)('keeps sends, decisions and keys, and loses %s', async (_name, action, outcome) => {
    const caller = service.caller({ approval: 'always', expires_at: null });
    const held = await service.hold(caller);
    await service.approvals.deny(held.id);
    const kept = lines();
    expect(kept.map(([what, came]) => [what, came])).toEqual([
      ['key', 'created'],
      ['send', 'asked'],
      ['approval', 'held'],
      ['approval', 'denied'],
    ]);
    await service.clock.advance(2 * DAY_MS);
    fill(MAX_ROWS + 5, { keyId: caller.key?.id ?? '', action, outcome, target: 'x' });
    auditStore(service.state).trim(service.clock.now());
    expect(service.state.prepare('SELECT count(*) FROM audit').get()).toEqual([MAX_ROWS]);
    expect(service.access.audit.list({ after: 0, limit: 4 }).map(({ outcome: came }) => came)).toEqual(
      kept.map(([, came]) => came),
    );
  });

  test('loses the oldest decisions if it has nothing else, and holds up no send', async () => {
    const caller = service.caller({ expires_at: null });
    await service.send(caller);
    const note = { keyId: caller.key?.id ?? '', action: 'approval', outcome: 'denied' } as const;
    fill(MAX_ROWS + 5, note);
    auditStore(service.state).trim(service.clock.now());
    expect(service.state.prepare('SELECT count(*) FROM audit').get()).toEqual([MAX_ROWS]);
    expect(await codeOf(service.send(caller))).toBe('none');
    expect(service.texts()).toEqual(['hello']);
  });

  test('is trimmed while the service runs, not only when it starts', () => {
    const note = { keyId: 'key', action: 'approval', outcome: 'denied' } as const;
    fill(MAX_ROWS, note);
    for (let line = 0; line < 1000; line += 1) service.access.audit.note(note);
    expect(service.state.prepare('SELECT count(*) FROM audit').get()).toEqual([MAX_ROWS]);
  });
});

test('refusals to different people within a minute name each of them', async () => {
  const caller = service.caller({ send: [ANA] });
  const long = 'x'.repeat(512);
  for (const recipient of [BEN, '+15550198', '+15550199', BEN, long]) await codeOf(service.send(caller, { recipient }));
  expect(lines().filter(([action]) => action === 'refused')).toEqual([
    ['refused', 'recipient_not_allowed', BEN, 2],
    ['refused', 'recipient_not_allowed', '+15550198', 1],
    ['refused', 'recipient_not_allowed', '+15550199', 1],
    ['refused', 'recipient_is_name', long.slice(0, 200), 1],
  ]);
});

test('refusals to ever more people in a loop name the first 10 of a minute and count the others', async () => {
  const caller = service.caller({ send: [ANA] });
  const numbers = Array.from({ length: 300 }, (_, n) => `+1555100${1000 + n}`);
  for (const recipient of [...numbers, numbers[0] ?? '']) await codeOf(service.send(caller, { recipient }));
  const refused = lines().filter(([action]) => action === 'refused');
  expect(refused).toHaveLength(11);
  expect(refused[0]).toEqual(['refused', 'recipient_not_allowed', numbers[0], 2]);
  expect(refused.at(-1)).toEqual(['refused', 'recipient_not_allowed', '(others)', 290]);
  await service.clock.advance(60_000);
  await codeOf(service.send(caller, { recipient: numbers[299] ?? '' }));
  expect(lines().at(-1)).toEqual(['refused', 'recipient_not_allowed', numbers[299], 1]);
});

test('sends that find no room among the held ones are one line a minute', async () => {
  const caller = service.caller({ approval: 'always', caps: { per_minute: 60, per_day: 100 } });
  for (let held = 0; held < 20; held += 1) await service.hold(caller, { body: `${held}` });
  for (let again = 0; again < 50; again += 1) {
    expect(await codeOf(service.send(caller, { body: 'one more' }))).toBe('too_many_held');
  }
  const refused = lines().filter(([, outcome]) => outcome === 'too_many_held');
  expect(refused).toEqual([['refused', 'too_many_held', ANA, 50]]);
});

test('a cap is checked without reading lines that it does not count', () => {
  const plans: string[] = [];
  const explained: Sqlite = {
    ...service.state,
    exec: (sql) => service.state.exec(sql),
    transaction: (work) => service.state.transaction(work),
    close: () => {},
    prepare(sql) {
      const statement = service.state.prepare(sql);
      const explain = service.state.prepare(`EXPLAIN QUERY PLAN ${sql}`);
      const noted = (values: Parameters<typeof statement.get>): void => {
        plans.push(...explain.all(...values).map((row) => String(row[3])));
      };
      return {
        ...statement,
        get: (...values) => {
          noted(values);
          return statement.get(...values);
        },
      };
    },
  };
  const store = auditStore(explained);
  store.sends('key', ANA, service.clock.now(), 'asked');
  store.ask('ask', 0);
  expect(plans.filter((step) => /audit/.test(step))).toEqual([
    expect.stringContaining('audit_of_asks (key_id=? AND at_ms>?)'),
    expect.stringContaining('audit_of_asks (key_id=? AND at_ms>?)'),
    expect.stringContaining('audit_of_all_asks (at_ms>?)'),
    expect.stringContaining('audit_by_ask (ask=? AND at_ms>?)'),
  ]);
});

import { describe, expect, test } from '@jest/globals';
import type { NewWebhook } from '../../src/core/model/ports/webhooks-ports.ts';
import { webhookSummary } from '../../src/core/model/status.ts';
import { askedWaitMs } from '../../src/core/webhooks/retry-policy.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { hook, newReceiver, rowsAt, WebhookFixture } from '../support/webhook-fixture.ts';

const HOUR_MS = 3_600_000;

async function receiving(
  answer: (attempt: number) => readonly [number, Readonly<Record<string, string>>?],
  options: Partial<NewWebhook> = {},
) {
  const clock = new FakeClock();
  const fixture = new WebhookFixture([1, 1], { clock, posterClock: clock });
  const receiver = await newReceiver((response, { headers }) => {
    const [status, more = {}] = answer(Number(headers['x-webhook-attempt']));
    response.writeHead(status, more).end();
  });
  const { id } = fixture.dispatcher.add(hook(receiver.url, { on_failure: 'hold', ...options }));
  const status = () => fixture.dispatcher.status(id);
  return { clock, fixture, receiver, id, status };
}

describe('Retry-After', () => {
  const nowMs = Date.parse('2026-01-02T03:04:05Z');
  test.each([
    ['15', 15_000],
    [' 120 ', 120_000],
    ['Fri, 02 Jan 2026 03:05:05 GMT', 60_000],
    ['7200', HOUR_MS],
    ['99999999999999999999', HOUR_MS],
    ['Sat, 03 Jan 2026 03:04:05 GMT', HOUR_MS],
    ['0', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['Fri, 02 Jan 2026 03:04:00 GMT', undefined],
    ['', undefined],
    [undefined, undefined],
    [['1', '2'], undefined],
  ] as const)('of %j asks for a wait of %p ms', (header, ms) => {
    expect(askedWaitMs(header, nowMs)).toBe(ms);
  });

  test.each([429, 503, 500, 404])(
    'with %i is waited for by a webhook that holds, without a try in between',
    async (code) => {
      const { clock, fixture, receiver, status } = await receiving((attempt) =>
        attempt === 1 ? [code, { 'retry-after': '600' }] : [204],
      );
      fixture.publish(1, 1);
      await eventually(() => expect(status().held).toMatchObject({ attempts: 1, retry_after: expect.any(String) }));
      await eventually(() => expect(Date.parse(status().next_attempt_at ?? '')).toBeGreaterThan(clock.now() + 598_000));
      await clock.advance(599_999);
      expect(rowsAt(receiver)).toEqual([1]);
      await clock.advance(1);
      await eventually(() => expect(status()).toMatchObject({ state: 'healthy', behind: 0 }));
      expect(rowsAt(receiver)).toEqual([1, 1]);
    },
  );

  test('is waited for after a restart too, and no longer than an hour', async () => {
    const { clock, fixture, receiver, status } = await receiving((attempt) =>
      attempt === 1 ? [503, { 'retry-after': '86400' }] : [204],
    );
    fixture.publish(1, 1);
    await eventually(() => expect(status().held?.attempts).toBe(1));
    await clock.advance(HOUR_MS - 10_000);
    await fixture.dispatcher.close(1000);
    fixture.restart();
    await eventually(() => expect(status().next_attempt_at).toBeDefined());
    await clock.advance(9000);
    expect(rowsAt(receiver)).toEqual([1]);
    await clock.advance(2000);
    await eventually(() => expect(status()).toMatchObject({ state: 'healthy', behind: 0 }));
  });

  test('is waited for an hour at most after a restart, although the clock was set back', async () => {
    const { clock, fixture, status } = await receiving((attempt) =>
      attempt === 1 ? [503, { 'retry-after': '3600' }] : [204],
    );
    fixture.publish(1, 1);
    await eventually(() => expect(status().held?.attempts).toBe(1));
    await fixture.dispatcher.close(1000);
    clock.step(-24 * HOUR_MS);
    fixture.restart();
    await eventually(() => expect(status().next_attempt_at).toBeDefined());
    await clock.advance(HOUR_MS);
    await eventually(() => expect(status()).toMatchObject({ state: 'healthy', behind: 0 }));
  });

  test('does not keep the owner from trying at once', async () => {
    const { clock, fixture, receiver, id, status } = await receiving((attempt) =>
      attempt === 1 ? [503, { 'retry-after': '600' }] : [204],
    );
    fixture.publish(1, 1);
    await eventually(() => expect(status().next_attempt_at).toBeDefined());
    const before = clock.now();
    fixture.dispatcher.retry(id);
    await eventually(() => expect(status()).toMatchObject({ state: 'healthy', held: null }));
    expect([rowsAt(receiver), clock.now()]).toEqual([[1, 1], before]);
  });

  test('changes nothing for a webhook that drops: it has the three attempts of the contract', async () => {
    const { clock, fixture, receiver, id, status } = await receiving(() => [503, { 'retry-after': '600' }], {
      on_failure: 'drop',
    });
    fixture.publish(1, 1);
    await eventually(async () => {
      await clock.advance(1);
      expect(status()).toMatchObject({ state: 'failing', dropped: 1 });
    });
    expect(rowsAt(receiver)).toEqual([1, 1, 1]);
    expect(fixture.dispatcher.deliveries(id)).toMatchObject([{ outcome: 'dropped', attempts: 3 }]);
  });
});

describe('410', () => {
  test('pauses a webhook that holds after one attempt, also across a restart, until it is resumed', async () => {
    let isBack = false;
    const { clock, fixture, receiver, id, status } = await receiving(() => [isBack ? 204 : 410]);
    fixture.publish(1, 2);
    await eventually(() =>
      expect(status()).toMatchObject({ state: 'paused', enabled: false, held: { attempts: 1, gone: true } }),
    );
    await clock.advance(HOUR_MS);
    await fixture.dispatcher.close(1000);
    fixture.restart();
    fixture.publish(3, 3);
    await clock.advance(HOUR_MS);
    expect([rowsAt(receiver), status().state]).toEqual([[1], 'paused']);
    const webhook = fixture.store.get(id);
    if (webhook === undefined) throw new Error('no webhook');
    expect(webhookSummary(webhook, status(), undefined)).toMatchObject({
      paused_by: 'receiver',
      last_error: 'The receiver answered 410.',
    });
    isBack = true;
    fixture.dispatcher.change(id, { enabled: true });
    await eventually(() => expect(status()).toMatchObject({ state: 'healthy', behind: 0, held: null }));
    expect(rowsAt(receiver)).toEqual([1, 1, 2, 3]);
  });

  test('pauses again if the receiver has not changed its mind', async () => {
    const { fixture, id, status } = await receiving(() => [410]);
    fixture.publish(1, 1);
    await eventually(() => expect(status().state).toBe('paused'));
    fixture.dispatcher.change(id, { enabled: true });
    await eventually(() => expect(status()).toMatchObject({ state: 'paused', held: { attempts: 2 } }));
  });

  test('is a failure like any other for a webhook that drops', async () => {
    const { clock, fixture, receiver, status } = await receiving(() => [410], { on_failure: 'drop' });
    fixture.publish(1, 1);
    await eventually(async () => {
      await clock.advance(1);
      expect(status()).toMatchObject({ state: 'failing', enabled: true, dropped: 1 });
    });
    expect(rowsAt(receiver)).toEqual([1, 1, 1]);
  });

  test('is not named as the reason of a pause that the owner made', async () => {
    const { fixture, id, status } = await receiving(() => [503, { 'retry-after': '600' }]);
    fixture.publish(1, 1);
    await eventually(() => expect(status().state).toBe('held'));
    const webhook = fixture.dispatcher.change(id, { enabled: false });
    expect(status().state).toBe('paused');
    expect(webhookSummary(webhook, status(), undefined)).not.toHaveProperty('paused_by');
  });
});

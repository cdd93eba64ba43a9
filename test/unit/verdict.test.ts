import { describe, expect, test } from '@jest/globals';
import {
  droppedWarnings,
  type HubMac,
  type HubMachine,
  type StatusReport,
  type WebhookSummary,
} from '../../src/core/model/status.ts';
import { verdictOf } from '../../src/core/model/verdict.ts';

const webhook = (state: WebhookSummary['state'], name?: string): WebhookSummary => ({
  id: 'w1',
  ...(name !== undefined && { name }),
  origin: 'https://example.org',
  state,
  consecutive_failures: 0,
  last_success_at: null,
  last_outcome: null,
  last_error: null,
});
const REPORT: StatusReport = {
  ...{ version: '0.1.0', uptime_s: 1, newest_row: 1, newest_event: { row_id: 1, age_s: null } },
  ...{ backend: { connected: true, message: null }, permissions: [], webhooks: [] },
};
const mac = (id: string, state: HubMac['state']): HubMac => ({ id, state, path: '', machines: [] });

describe('the verdict of a hub', () => {
  const machine = (name: string, more: Partial<HubMachine> = {}): HubMachine => ({
    ...{ machine: name, state: 'present', name, version: '1.2.3', heard_at: '2026-11-22T15:00:00Z', newest_row: 1 },
    ...{ behind: 0, rows_without_event: 0, problem: null },
    ...more,
  });
  const verdict = (macs: readonly HubMac[]) => verdictOf({ ...REPORT, macs });
  const one = (more: Partial<HubMachine>) => verdict([{ ...mac('m2', 'present'), machines: [machine('m2', more)] }]);

  test.each([
    [{ problem: 'Its certificate ends in 3 days.' }, 'm2 reports a problem', 'Its certificate ends in 3 days.'],
    [{ rows_without_event: 3 }, 'm2 has missed 3 events', 'They were too old when the machine could publish them.'],
    [{ behind: 1200 }, 'm2 is catching up', '1,200 rows of its chat.db are still to come.'],
  ])('is a warning for a machine with %j', (more, text, next) => {
    expect(one(more)).toEqual({ tone: 'warn', text, next });
    expect(one({ behind: 10 }).text).toBe('Everything works');
  });

  test('names the worst of several troubles, and a machine of a pair that is away', () => {
    const pair = { ...mac('m1', 'present'), machines: [machine('m1-a'), machine('m1-b', { state: 'away' })] };
    expect(verdict([pair])).toEqual({
      ...{ tone: 'warn', text: 'm1-b is away', next: 'm1 works with another machine.' },
    });
    const late = { ...mac('m2', 'present'), machines: [machine('m2', { behind: 1200, rows_without_event: 3 })] };
    const ill = { ...mac('m4', 'present'), machines: [machine('m4', { problem: 'Its certificate ends.' })] };
    expect(verdict([pair, late, mac('m3', 'away'), ill])).toEqual({
      ...{ tone: 'warn', text: 'm3 is away and m4 reports a problem' },
      next: 'Its certificate ends. Two more machines need a look.',
    });
  });

  test('promises the events of a Mac that is away only for when it is back', () => {
    expect(verdict([mac('m1', 'present'), mac('m2', 'away')]).next).toBe(
      'Everything else continues. Its events come once it is back.',
    );
    expect(verdict([mac('m1', 'away'), mac('m2', 'away')]).next).toMatch(/Their events come once they are back\.$/);
  });

  test('says of a machine in trouble and of a webhook that loses events what each means', () => {
    const macs = [{ ...mac('m2', 'present'), machines: [machine('m2', { problem: 'Its certificate ends.' })] }];
    const webhooks = [{ ...webhook('failing', 'Front door'), consecutive_failures: 3 }];
    expect(verdictOf({ ...REPORT, macs, webhooks })).toMatchObject({
      next: 'Its certificate ends. Front door drops an event after three failed attempts.',
    });
  });
});

describe('the verdict on a webhook that drops', () => {
  const report = (webhooks: readonly WebhookSummary[], more: Partial<StatusReport> = {}): StatusReport => ({
    ...REPORT,
    webhooks,
    ...(droppedWarnings(webhooks).length > 0 && { warnings: droppedWarnings(webhooks) }),
    ...more,
  });
  const dropping = { ...webhook('failing', 'Front door'), id: '3f2a0000-1', consecutive_failures: 3, dropped: 3 };

  test('names what it has dropped, and how to deliver that again', () => {
    expect(verdictOf(report([webhook('held', 'Kitchen'), dropping]))).toEqual({
      tone: 'bad',
      text: 'Front door has dropped 3 events',
      next: 'To deliver them again: "postern webhooks replay 3f2a0000 --dropped".',
    });
    expect(verdictOf(report([{ ...dropping, dropped: 1 }])).text).toBe('Front door has dropped 1 event');
    const atHub = { macs: [mac('m1', 'present'), mac('m2', 'away')] };
    expect(verdictOf(report([dropping], atHub)).text).toBe('Front door has dropped 3 events');
    expect(verdictOf(report([dropping], { macs: [mac('m1', 'away')] })).text).toBe(
      'm1 is away and one webhook is behind',
    );
  });

  test('never says that nothing is lost while it fails', () => {
    const failing = { ...dropping, dropped: 0 };
    expect(verdictOf(report([failing])).next).toBe('Front door drops an event after three failed attempts.');
    expect(verdictOf(report([webhook('held'), failing, failing])).next).toBe(
      'Two of them drop an event after three failed attempts.',
    );
    expect(verdictOf(report([webhook('held')])).next).toMatch(/^Nothing is lost/);
    expect(verdictOf(report([failing], { macs: [mac('m1', 'present')] })).next).not.toMatch(/delivered later|Nothing/);
  });
});

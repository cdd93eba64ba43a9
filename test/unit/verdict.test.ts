import { describe, expect, test } from '@jest/globals';
import { droppedWarnings, type HubMac, type StatusReport, type WebhookSummary } from '../../src/core/model/status.ts';
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
const mac = (id: string, state: HubMac['state']): HubMac => ({ id, state, path: '', machines: [] });

describe('the verdict on a webhook that drops', () => {
  const report = (webhooks: readonly WebhookSummary[], more: Partial<StatusReport> = {}): StatusReport => ({
    version: '0.1.0',
    uptime_s: 1,
    newest_row: 1,
    newest_event: { row_id: 1, age_s: null },
    backend: { connected: true, message: null },
    permissions: [],
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

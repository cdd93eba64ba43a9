import { describe, expect, test } from '@jest/globals';
import { droppedWarnings, type FleetMac, type StatusReport, type WebhookSummary } from '../../src/core/model/status.ts';
import { type Verdict, verdictOf } from '../../src/core/model/verdict.ts';

/** The console's own module, as a browser loads it. */
const CONSOLE: string = '../../src/features/console/verdict.js';

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
const mac = (id: string, state: FleetMac['state'], isConnected = true): FleetMac => ({
  id,
  state,
  version: null,
  addresses: [],
  seen_s: 1,
  backend: { connected: isConnected, message: null },
  newest_row: null,
  behind: null,
  shared_addresses: [],
  changes: false,
  open_holes: 0,
});
const denied = (name: 'full_disk_access' | 'automation'): StatusReport['permissions'] => [
  { name, state: 'denied', detail: `Allow ${name}.` },
];
const search = { state: 'failing', indexed_rows: 0, total_rows: 0, indexed_from: null, problem: null } as const;
const fleet = { mac: 'm1', state: 'away', behind: 0, problem: null } as const;

const OPTIONS: { readonly [Member in keyof StatusReport]?: readonly StatusReport[Member][] } = {
  backend: [
    { connected: true, message: null },
    { connected: true, message: 'The clock moved.' },
    { connected: false, message: 'There is no chat.db.' },
    { connected: false, message: null },
  ],
  permissions: [[], denied('full_disk_access'), denied('automation')],
  webhooks: [
    [],
    [webhook('healthy'), webhook('paused')],
    [webhook('failing')],
    [webhook('held', 'My receiver')],
    [webhook('held'), webhook('failing')],
    Array.from({ length: 12 }, () => webhook('failing')),
  ],
  held_sends: [undefined, 0, 1, 2, 1200],
  search: [undefined, search],
  fleet: [undefined, fleet as StatusReport['fleet']],
  warnings: [undefined, [{ code: 'push_dead', text: 'Gone.', tone: 'bad', title: 'Messages may not arrive' }]],
  macs: [
    undefined,
    [],
    [mac('m1', 'present')],
    [mac('m1', 'away'), mac('m2', 'unreadable'), mac('m3', 'present', false)],
    [mac('m1', 'away')],
  ],
};

/** Returns every combination of the members above. */
function reports(): readonly StatusReport[] {
  let made: readonly object[] = [
    { version: '0.1.0', uptime_s: 1, newest_row: 1, newest_event: { row_id: 1, age_s: null } },
  ];
  for (const [name, values] of Object.entries(OPTIONS)) {
    made = made.flatMap((report) =>
      (values as readonly unknown[]).map((value) => (value === undefined ? report : { ...report, [name]: value })),
    );
  }
  return made as readonly StatusReport[];
}

test('the menu and the terminal say of every state what the console says', async () => {
  const own = (await import(CONSOLE)) as { verdictOf(report: StatusReport, held: number): Verdict };
  const all = reports();
  expect(all).toHaveLength(4 * 3 * 6 * 5 * 2 * 2 * 2 * 5);
  // The console does not know of a hub's warnings.
  const known = all.filter(({ macs, warnings }) => macs === undefined || warnings === undefined);
  const differing = known.filter((report) => {
    const { tone, text, next } = own.verdictOf(report, report.held_sends ?? 0);
    const ours = verdictOf(report);
    return tone !== ours.tone || text !== ours.text || next !== ours.next;
  });
  expect(differing.slice(0, 2)).toEqual([]);
});

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
      'M1 is away and one webhook is behind',
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

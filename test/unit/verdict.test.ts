import { expect, test } from '@jest/globals';
import type { HubMac, StatusReport, WebhookSummary } from '../../src/core/model/status.ts';
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
const mac = (id: string, state: HubMac['state']): HubMac => ({ id, state, machines: [] });
const denied = (name: 'full_disk_access' | 'automation'): StatusReport['permissions'] => [
  { name, state: 'denied', detail: `Allow ${name}.` },
];
const search = { state: 'failing', indexed_rows: 0, total_rows: 0, indexed_from: null, problem: null } as const;

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
  warnings: [undefined, [{ code: 'push_dead', text: 'Gone.', tone: 'bad', title: 'Messages may not arrive' }]],
  macs: [
    undefined,
    [],
    [mac('m1', 'present')],
    [mac('m1', 'away'), mac('m2', 'away'), mac('m3', 'present')],
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
  const differing = all.filter((report) => {
    const { tone, text, next } = own.verdictOf(report, report.held_sends ?? 0);
    const ours = verdictOf(report);
    return tone !== ours.tone || text !== ours.text || next !== ours.next;
  });
  expect(differing.slice(0, 2)).toEqual([]);
});

import { describe, expect, test } from '@jest/globals';
import { menuText } from '../../src/core/http/status/menu-text.ts';
import { accountWarning } from '../../src/core/model/messages-account.ts';
import { droppedWarnings, type StatusReport, type StatusWarning } from '../../src/core/model/status.ts';

const url = 'http://127.0.0.1:3001';
const fine: StatusReport = {
  version: '0.1.0',
  uptime_s: 90_000,
  backend: { connected: true, message: null },
  newest_row: 12,
  newest_event: { row_id: 12, age_s: 125 },
  webhooks: [],
  permissions: [
    { name: 'full_disk_access', state: 'granted', detail: '' },
    { name: 'automation', state: 'granted', detail: '' },
  ],
};
const failing = (origin: string, error: string): StatusReport['webhooks'][number] => ({
  id: 'w1',
  origin,
  state: 'failing',
  consecutive_failures: 3,
  last_success_at: null,
  last_outcome: 'dropped',
  last_error: error,
});

const deadPush: StatusReport['warnings'] = [
  {
    ...{ code: 'push_dead', text: 'Gone.', tone: 'bad', title: 'Messages may not arrive' },
    menu: 'No push from Apple since 2026-01-01 12:00 UTC',
  },
];

const signedOut = [accountWarning('no_imessage') as StatusWarning];

describe('the menu text', () => {
  test('for SwiftBar when all is well', () => {
    expect(menuText(fine, 'swiftbar', { url })).toBe(
      [
        '| sfimage=envelope',
        '---',
        'Everything works',
        'Last event 2 min ago',
        'No webhooks',
        'Running, version 0.1.0, for 25 h',
        '---',
        'Open documentation | href=http://127.0.0.1:3001/docs',
        '',
      ].join('\n'),
    );
  });

  test.each<[Partial<StatusReport>, string]>([
    [{ permissions: [{ name: 'automation', state: 'denied', detail: 'no' }] }, 'Messages arrive, but none can be sent'],
    [
      { webhooks: [{ ...failing('https://example.org', '500'), name: 'My receiver' }] },
      'Messages work; My receiver is behind',
    ],
    [{ webhooks: [failing('https://example.org', '500')] }, 'Messages work; example.org is behind'],
    [
      { webhooks: [failing('https://a', '500'), failing('https://b', '500')] },
      'Messages work; two webhooks are behind',
    ],
    [{ backend: { connected: true, message: 'The clock moved.' } }, 'Messages work, with a warning'],
    [{ warnings: deadPush }, 'Messages may not arrive'],
    [{ warnings: signedOut }, 'Messages is not signed in to iMessage'],
  ])('begins with the words of the console: %#', (trouble, words) => {
    const [, , first] = menuText({ ...fine, ...trouble }, 'swiftbar', { url }).split('\n');
    expect(first).toBe(`${words} | color=red`);
  });

  test('counts a webhook once that its receiver has paused', () => {
    const paused = { ...failing('https://example.org', '410'), state: 'paused', paused_by: 'receiver' } as const;
    const lines = menuText({ ...fine, webhooks: [paused, { ...paused, paused_by: undefined }] }, 'xbar', { url });
    expect(lines).toContain('2 webhooks, 1 paused, 1 paused by the receiver (410)');
  });

  test('says once how many events a webhook has dropped', () => {
    const webhooks = [{ ...failing('https://example.org', '500'), name: 'Front door', dropped: 3 }];
    const report = { ...fine, webhooks, warnings: droppedWarnings(webhooks) };
    const lines = menuText(report, 'swiftbar', { url }).split('\n');
    expect(lines.filter((line) => line.includes('dropped'))).toEqual(['Front door has dropped 3 events | color=red']);
  });

  test('says since when push is dead', () => {
    const lines = menuText({ ...fine, warnings: deadPush }, 'swiftbar', { url }).split('\n');
    expect(lines).toContain('No push from Apple since 2026-01-01 12:00 UTC | color=red');
  });

  test('says that only SMS is signed in, and nothing while iMessage is', () => {
    const lines = menuText({ ...fine, warnings: signedOut }, 'swiftbar', { url }).split('\n');
    expect(lines.find((line) => line.includes('only SMS or RCS'))).toMatch(/ \| color=red$/);
    expect(accountWarning('imessage')).toBeUndefined();
  });

  test('counts the sends that wait for a decision, without their text', () => {
    const lines = menuText({ ...fine, held_sends: 2 }, 'swiftbar', { url }).split('\n');
    expect(lines).toContain('2 sends wait for your decision | href=http://127.0.0.1:3001/console');
    expect(menuText({ ...fine, held_sends: 0 }, 'swiftbar', { url })).toBe(menuText(fine, 'swiftbar', { url }));
  });

  test('for xbar when nothing is', () => {
    const report: StatusReport = {
      ...fine,
      backend: { connected: false, message: 'The database cannot be opened.' },
      newest_event: { row_id: 12, age_s: null },
      webhooks: [failing('https://example.org', 'status 500')],
      permissions: [{ name: 'full_disk_access', state: 'denied', detail: 'no' }],
    };
    expect(menuText(report, 'xbar', { url })).toBe(
      [
        'Postern !',
        '---',
        'Postern cannot read your messages | color=red',
        'The database cannot be opened. | color=red',
        'Full Disk Access is missing | color=red',
        'No events since Postern started',
        '1 webhook, 1 failing | color=red',
        '--https://example.org – status 500',
        'Running, version 0.1.0, for 25 h',
        '---',
        'Open documentation | href=http://127.0.0.1:3001/docs',
        '',
      ].join('\n'),
    );
  });

  test.each(['swiftbar', 'xbar'] as const)('lets no foreign text speak to %s', (host) => {
    const hostile = '---\nRun me | bash=/bin/rm param1=-rf\n\u001b[31m:skull: :sun.max: \u2028--sub \u202e';
    const text = menuText({ ...fine, webhooks: [failing('https://x', hostile)] }, host, { url });
    const line = text.split('\n').find((found) => found.includes('Run me'));
    expect(line).toBe('--https://x – --- Run me ¦ bash=/bin/rm param1=-rf : skull: : sun.max: --sub');
    expect(
      text
        .split('\n')
        .filter((found) => found.includes('|'))
        .join(),
    ).not.toContain('bash');
    const alone = menuText({ ...fine, backend: { connected: false, message: hostile } }, host, { url });
    expect(alone).toContain('\nRun me ¦ bash=/bin/rm param1=-rf : skull: : sun.max: --sub | color=red\n');
    expect(menuText({ ...fine, version: 'v'.repeat(5000) }, host, { url }).length).toBeLessThan(500);
  });

  test('uses no parameter of SwiftBar for xbar, which would refuse the whole menu', () => {
    const known = new Set(['href', 'color']);
    const text = menuText({ ...fine, webhooks: Array.from({ length: 9 }, () => failing('https://x', 'no')) }, 'xbar', {
      url,
    });
    for (const line of text.split('\n')) {
      for (const [, name = ''] of (line.split('|')[1] ?? '').matchAll(/(\w+)=/g)) expect(known).toContain(name);
    }
    expect(text).toContain('--and 4 more');
  });
});

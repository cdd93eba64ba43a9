import type { Approval, AuditEntry } from '../../client/access-types.ts';
import { DEFAULT_CAPS, type KeyRecord } from '../../client/key-types.ts';

const key: KeyRecord = {
  id: '7f3a9c1e',
  name: 'agent',
  scopes: ['read', 'events', 'send'],
  read: ['+15550100'],
  send: ['+15550100'],
  approval: 'always',
  caps: DEFAULT_CAPS,
  remaining: DEFAULT_CAPS,
  dry_run: false,
  created_at: '2026-01-30T18:00:00Z',
  expires_at: '2026-04-30T18:00:00Z',
  callback_hosts: [],
  max_wait_s: 50,
  last_used_at: null,
  closed: [],
};

const approval = {
  id: '0d4c7a52-3c1e-4d4c-9c0b-6c2a1f6d8e10',
  key_id: key.id,
  state: 'held',
  to: '+15550100',
  members: ['+15550100'],
  text: 'On my way',
  attachments: [],
  created_at: '2026-01-31T09:30:00Z',
  expires_at: '2026-02-01T09:30:00Z',
  decided_at: null,
  decided_by: null,
  message_id: null,
  problem: null,
  shown: '9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de',
} as const satisfies Approval;
const decided = { ...approval, decided_at: '2026-01-31T09:31:00Z', decided_by: 'owner' } as const;
const { shown: _shown, ...ended } = decided;

const audit: AuditEntry = {
  id: 12,
  at: '2026-01-31T09:30:00Z',
  key_id: key.id,
  action: 'send',
  target: 'any;-;+15550100',
  outcome: 'asked',
  text_hmac: '5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592',
  count: 1,
};

export const accessExamples = {
  key,
  keyRequest: { name: 'agent', preset: 'assistant', read: ['+15550100'], send: ['+15550100'] },
  newKey: { ...key, key: `postern_${key.id}_Vq1r0mWm3C9l2Hq8y5bX6dKpZtN4sJcU7eRfGhA0iBo` },
  revocation: { id: key.id, scheduled_cancelled: 2, approvals_voided: 1 },
  approval,
  approved: { ...decided, state: 'approved' },
  denied: { ...ended, state: 'denied', text: null },
  audit,
  check: { to: '+15550100', members: ['+15550100'], read: true, send: 'held', reason: null },
} as const;

// Words for the codes of the audit log.

import type { AuditAction } from '../../../../client/access-types.ts';

export const ACTIONS: Readonly<Record<AuditAction, string>> = {
  read: 'read',
  event: 'events',
  send: 'send',
  schedule: 'send later',
  approval: 'decision',
  refused: 'attempt',
  key: 'key',
  webhook: 'webhook',
};

/** The kind of a tag, and its word. */
export type OutcomeWords = readonly [kind: string, word: string];

const OUTCOMES: Readonly<Record<string, OutcomeWords>> = {
  shown: ['', 'shown'],
  asked: ['', 'asked'],
  held: ['warn', 'waits for you'],
  // Messages has both. What became of it afterwards is not recorded.
  sent: ['good', 'handed over'],
  pending: ['good', 'handed over'],
  scheduled: ['accent', 'scheduled'],
  approved: ['good', 'approved'],
  denied: ['bad', 'denied'],
  void: ['warn', 'void'],
  expired: ['', 'expired'],
  withdrawn: ['', 'withdrawn'],
  failed: ['bad', 'failed'],
  unknown: ['warn', 'not known'],
  dry_run: ['', 'only a trial'],
  created: ['accent', 'created'],
  changed: ['accent', 'changed'],
  rotated: ['accent', 'new secret'],
  revoked: ['bad', 'revoked'],
  added: ['accent', 'added'],
  removed: ['bad', 'removed'],
  recipient_not_allowed: ['bad', 'not on its list'],
  scope_missing: ['bad', 'right missing'],
  cap_reached: ['bad', 'limit reached'],
  conversation_not_found: ['bad', 'not on its list'],
  message_not_found: ['bad', 'not on its list'],
  owner_only: ['bad', 'owner only'],
  unauthorized: ['bad', 'wrong key'],
  too_many_held: ['bad', 'too many wait'],
};

export const outcomeIn = (outcome: string): OutcomeWords => OUTCOMES[outcome] ?? ['', outcome.replaceAll('_', ' ')];

import type { AuditAction } from '../../client/access-types.ts';

export const AUDIT_ACTIONS = [
  'read',
  'event',
  'send',
  'schedule',
  'approval',
  'refused',
  'key',
  'webhook',
] as const satisfies readonly AuditAction[];

/**
 * A limited key's refusals, dry runs, scheduled and cancelled sends name at most 10 targets per minute and outcome.
 * This value stands for all further targets, which share one line of the log.
 */
export const OTHER_TARGETS = '(others)';

/** The `key_id` of a decision that the owner made with a tapback. */
export const TAPBACK = 'tapback';

import type { Names } from './names.ts';

/** One line of the audit log: who did what to whom, and with which outcome. Never contains a message's text. */
export interface AuditEntry {
  readonly id: number;
  /** ISO 8601 UTC. For a line that counts several occurrences, the time of the first. */
  readonly at: string;
  /** Id of the limited key; `owner` for the owner's key, `tapback` for the owner's tapbacks. */
  readonly key_id: string;
  readonly action: AuditAction;
  /**
   * A chat id, an address, the host that a webhook posts to, `OTHER_TARGETS`, or the id of a key, approval or webhook.
   */
  readonly target: string | null;
  /** The result of the action, or the code of the problem with which it was refused. */
  readonly outcome: string;
  /** Keyed hash of the message's text. With it, the owner can prove what the text was. */
  readonly text_hmac: string | null;
  /** How many equal occurrences this line stands for. */
  readonly count: number;
  /** The name of the target, with `include=contacts`. */
  readonly names?: Names | undefined;
}

export const AUDIT_ACTIONS = ['read', 'event', 'send', 'schedule', 'approval', 'refused', 'key', 'webhook'] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * A limited key's refusals, dry runs, scheduled and cancelled sends name at most 10 targets per minute and outcome. This
 * value stands for all further targets, which share one line of the log.
 */
export const OTHER_TARGETS = '(others)';

/** The owner's `key_id`. */
export const OWNER = 'owner';
/** The `key_id` of a decision that the owner made with a tapback. */
export const TAPBACK = 'tapback';

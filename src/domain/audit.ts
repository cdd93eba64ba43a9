import type { Names } from './names.ts';

/** One line of the audit log: who did what to whom, and the decision. Never a body. */
export interface AuditEntry {
  readonly id: number;
  /** ISO 8601 UTC. For a line that counts several occurrences, the time of the first. */
  readonly at: string;
  /** `owner` for the owner's key, `tapback` for the owner's tapbacks. */
  readonly key_id: string;
  readonly action: AuditAction;
  /**
   * A chat id, an address, the id of a key, an approval or a webhook, the host that a webhook posts to, or
   * `OTHER_TARGETS`.
   */
  readonly target: string | null;
  /** The result, or the code of the refusal. */
  readonly outcome: string;
  /** Keyed hash of the text, from which the owner can prove what the text was. */
  readonly text_hmac: string | null;
  /** How many equal occurrences this line stands for. */
  readonly count: number;
  /** The name of the target, with `include=contacts`. */
  readonly names?: Names | undefined;
}

export const AUDIT_ACTIONS = ['read', 'event', 'send', 'schedule', 'approval', 'refused', 'key', 'webhook'] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * The target of refusals and dry runs beyond the first 10 targets in a minute, per key and outcome. One line counts
 * them.
 */
export const OTHER_TARGETS = '(others)';

/** The owner's `key_id`. */
export const OWNER = 'owner';
/** The `key_id` of a decision that the owner made with a tapback. */
export const TAPBACK = 'tapback';

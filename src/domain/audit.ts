/** One line of the audit log: who did what to whom, and what was decided. Never a body. */
export interface AuditEntry {
  readonly id: number;
  /** ISO 8601 UTC; of a line that counts several, the first. */
  readonly at: string;
  /** `owner` for the owner's key, `tapback` for his tapbacks. */
  readonly key_id: string;
  readonly action: AuditAction;
  /** A chat id, an address, or the id of a key, an approval or a webhook. */
  readonly target: string | null;
  /** What came of it, or the code of the refusal. */
  readonly outcome: string;
  /** Keyed hash of the text, so that the owner can prove which text it was. */
  readonly text_hmac: string | null;
  /** How many of the same this line stands for. */
  readonly count: number;
}

export const AUDIT_ACTIONS = ['read', 'event', 'send', 'approval', 'refused', 'key', 'webhook'] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** `key_id` of the owner. */
export const OWNER = 'owner';
/** Who decided, when the owner did so by a tapback. */
export const TAPBACK = 'tapback';

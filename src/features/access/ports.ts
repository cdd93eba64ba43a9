import type { Approval, ApprovalState, AuditAction, AuditEntry } from '../../client/access-types.ts';
import type { ClosedGroup, KeyDetails, KeySettings, KeyUse, Preset } from '../../client/key-types.ts';
import type { Scope } from '../../core/model/key.ts';
import type { SendPreferences } from '../../core/model/send-service.ts';
import type { StoredBytes } from '../../core/model/upload.ts';

/** A key as stored: with the hashes of its current and its previous secret. */
export interface StoredKey extends KeyDetails {
  readonly hash: string;
  /** The hash of the secret that the last rotation replaced. The replaced secret remains valid until `untilMs`. */
  readonly previous: { readonly hash: string; readonly untilMs: number } | null;
}

export interface KeyStore {
  /** Returns the keys that are not revoked, oldest first. */
  list(): readonly StoredKey[];
  add(key: StoredKey): void;
  update(key: StoredKey): void;
  noteUse(id: string, at: string): void;
  /** Marks the key as revoked, so that `list` omits it. Its row stays, because the audit log refers to it. */
  revoke(id: string, at: string): void;
  /** Returns the keys that were revoked, newest first, at most 1,000. */
  revoked(): readonly (StoredKey & { readonly revoked_at: string })[];
  /** Returns the secret that this installation stores under the name. The first call creates it with `make`. */
  secret(name: string, make: () => string): string;
  /** Reports whether a key has ever existed, including revoked ones. */
  hasAny(): boolean;
}

/** A held send as stored. */
export interface StoredApproval extends Approval {
  readonly options: SendPreferences;
  readonly shown: string;
  /** Identifies the request for this send, so that repeating the request does not hold a second send. */
  readonly ask: string;
  /** True if the request had an Idempotency-Key. A repeated request then returns this approval for 30 days. */
  readonly hasKey: boolean;
  /** Keyed hash of recipient, text and files. */
  readonly requestHash: string;
  /** Keyed hash of the message text. It is kept after the text is erased. */
  readonly textHmac: string;
  readonly createdMs: number;
  readonly expiresMs: number;
}

export interface ApprovalStore {
  add(approval: StoredApproval): void;
  get(id: string): StoredApproval | undefined;
  /** Newest first; held sends in the order in which they expire. */
  list(state: ApprovalState | undefined, limit: number): readonly StoredApproval[];
  /**
   * Returns the newest approval of the request that `ask` identifies. Ignores approvals created before `sinceMs`,
   * unless their send is still scheduled.
   */
  ofAsk(ask: string, sinceMs: number): StoredApproval | undefined;
  countHeld(keyId: string): number;
  /** Returns the sizes of the files of sends that are held or approved. */
  keptBytes(): readonly StoredBytes[];
  /** Returns the ids of held sends that have expired. */
  due(nowMs: number): readonly string[];
  /** Returns when the next held send expires, Unix milliseconds; undefined if no send is held. */
  nextExpiryMs(): number | undefined;
  /**
   * Changes a held send to `state` durably, in one statement. Returns false if the send is no longer held. The state
   * `approved` also requires that the send has not expired and that `shown` equals the stored value. Every final state
   * erases the text.
   */
  decide(
    id: string,
    state: ApprovalState,
    decision: { readonly at: string; readonly by: string | null; readonly nowMs: number; readonly shown?: string },
  ): boolean;
  /**
   * Deletes finished approvals whose expiry time is more than 30 days ago. If more than 10,000 remain, also deletes the
   * oldest finished ones, except those with an Idempotency-Key.
   */
  prune(nowMs: number): void;
  /** Records the outcome of an approved send. */
  finish(
    id: string,
    state: ApprovalState,
    end: { readonly messageId: string | null; readonly problem: string | null },
  ): void;
}

/** A line to add to the audit log. */
export interface AuditNote {
  readonly keyId: string;
  readonly action: AuditAction;
  readonly target?: string | null;
  readonly outcome: string;
  readonly textHmac?: string;
  /**
   * True if the owner had never written to the recipient. Only in the line for a send that the key was allowed to
   * request.
   */
  readonly isNew?: boolean;
  /** Identifies the request. Only in the line for a send that the key was allowed to request. */
  readonly ask?: string;
}

export interface AuditQuery {
  readonly keyId?: string | undefined;
  /**
   * Only lines with a number above `after`. If more than `limit` lines match, the query returns the oldest, or the
   * newest with `isNewestFirst`. Without `after`, the query selects the newest lines.
   */
  readonly after?: number | undefined;
  /** Only lines with a lower number. */
  readonly before?: number | undefined;
  readonly sinceMs?: number | undefined;
  readonly action?: AuditAction | undefined;
  readonly outcome?: string | undefined;
  readonly target?: string | undefined;
  /** Newest first if true, else oldest first. */
  readonly isNewestFirst?: boolean | undefined;
  readonly limit: number;
}

/** The number of times that a key did `what` in the span of time that begins at `atMs`. */
export interface KeyUses {
  readonly keyId: string;
  readonly atMs: number;
  readonly what: keyof KeyUse;
  readonly count: number;
}

/**
 * The counts that have caps: the requests that a key was allowed to make, scheduled ones included (`asked`), or the
 * messages that leave: direct requests, and scheduled sends once they are due (`leaving`).
 */
export type CapCount = 'asked' | 'leaving';

/**
 * Number of sends in the last minute or day. At `freeAtMs` the oldest of these sends leaves that period, so the count
 * decreases.
 */
export interface SendCount {
  readonly count: number;
  readonly freeAtMs: number;
}

export interface SendCounts {
  readonly minute: SendCount;
  readonly day: SendCount;
  /**
   * Number of new recipients in the last day, each counted once. Does not count the recipient whose send is being
   * decided.
   */
  readonly newContacts: SendCount;
  /** The sends of all limited keys together in the last day. */
  readonly dayOfAll: SendCount;
}

export interface AuditStore {
  /** Adds a line and returns its number. */
  add(note: AuditNote, atMs: number): number;
  /** Increases the stored number of occurrences of each line by `more`. */
  count(lines: readonly { readonly id: number; readonly more: number }[]): void;
  list(query: AuditQuery): readonly AuditEntry[];
  /** Counts the actions of limited keys since `sinceMs`, in spans of `lengthMs`. */
  uses(sinceMs: number, lengthMs: number): readonly KeyUses[];
  /**
   * Counts the requests or the leaving messages of the last minute and day, for comparison with the key's caps.
   * `newContacts` does not include `target`.
   */
  sends(keyId: string, target: string | null, nowMs: number, counted: CapCount): SendCounts;
  /**
   * Returns the time of the newest line about the request `ask`, in Unix milliseconds; undefined if there is no line
   * since `sinceMs`.
   */
  ask(ask: string, sinceMs: number): number | undefined;
  /**
   * Removes lines that are past their time limit. If too many lines remain, also removes the oldest ones, but never a
   * line of the last 24 hours that counts towards caps.
   */
  trim(nowMs: number): void;
}

export interface NewKey {
  readonly name: string;
  readonly preset?: Preset | undefined;
  readonly scopes?: readonly Scope[] | undefined;
  readonly settings: KeyChanges;
}

/** A key's settings as clients write them: `read` and `send` list addresses and chat ids. */
export type KeyChanges = Partial<
  Omit<KeySettings, 'read' | 'send' | 'caps'> & {
    readonly read: '*' | readonly string[];
    readonly send: '*' | readonly string[];
    readonly caps: Partial<KeySettings['caps']>;
  }
>;

/** Changes of a key. `opens` are closed groups to open again for those who joined. */
export interface KeyUpdate extends KeyChanges {
  readonly opens?: readonly ClosedGroup[];
}

/** The held sends that a caller may see or decide. Other held sends do not exist for the caller. */
export interface Approvals {
  list(query: { readonly state?: ApprovalState | undefined; readonly waitMs: number }): Promise<readonly Approval[]>;
  /** Returns an approval once it has reached a final state, or after `waitMs` in its current state. */
  get(id: string, waitMs: number): Promise<Approval>;
  /**
   * Approves a held send. Throws `approval_changed` if `shown` is not the hash of what would be sent, and
   * `already_decided` if somebody has decided about the send before.
   */
  approve(id: string, shown: string): Promise<Approval>;
  deny(id: string): Promise<Approval>;
  withdraw(id: string): Promise<void>;
  /** Returns true if the owner has never written to the recipient; undefined if this cannot be determined. */
  isNewContact(approval: Pick<Approval, 'to'>): boolean | undefined;
}

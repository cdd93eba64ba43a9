import type { Approval, ApprovalState } from '../approval.ts';
import type { AuditAction, AuditEntry } from '../audit.ts';
import type { Caller } from '../caller.ts';
import type { Key, KeyCheck, KeyRecord, KeyRevocation, KeySettings, Preset, Scope } from '../key.ts';
import type { SendPreferences } from '../send-service.ts';
import type { KeyUse } from '../statistics.ts';
import type { SelfChats } from './self-chat-ports.ts';

/** A chat, with the facts on which access is decided. */
export interface ChatMembers {
  /** Exactly as stored. */
  readonly guid: string;
  readonly isGroup: boolean;
  /** Addresses as stored, without the owner's own; empty if unknown. */
  readonly members: readonly string[];
  /** Set if no key's list can make the chat accessible. */
  readonly isClosed?: true;
}

/** The chats of chat.db and their members. Every method throws `chat_db_unavailable` while chat.db is unreadable. */
export interface ChatDirectory {
  /** Changes with each commit to chat.db. Earlier results may be wrong after a change. */
  version(): unknown;
  /** Returns the chats that a recipient may refer to, in the order in which a send tries them. */
  meant(recipient: string): readonly ChatMembers[];
  /** The chat with exactly this guid. */
  chat(guid: string): ChatMembers | undefined;
  /** Every chat with this member, one-to-one or group. */
  withMember(address: string): readonly ChatMembers[];
  /** The conversation of a row; undefined if the row is gone. */
  conversationOf(rowId: number): string | undefined;
  /** Reports whether the owner has ever sent anything to this chat. */
  hasOwnMessage(guid: string): boolean;
}

/** A key as stored: with hashes of its secrets, and when it was revoked. */
export interface StoredKey extends Key {
  readonly hash: string;
  /** The secret that a rotation replaced. It remains valid until `untilMs`. */
  readonly previous: { readonly hash: string; readonly untilMs: number } | null;
}

export interface KeyStore {
  /** Keys that are not revoked, oldest first. */
  list(): readonly StoredKey[];
  add(key: StoredKey): void;
  update(key: StoredKey): void;
  noteUse(id: string, at: string): void;
  /** Removes the key from the list. Its row stays for the audit log. */
  revoke(id: string, at: string): void;
  /** The keys that were revoked, newest first, at most 1,000. */
  revoked(): readonly (StoredKey & { readonly revoked_at: string })[];
  /** Returns this installation's secret with this name. Creates it at the first call. */
  secret(name: string, make: () => string): string;
  /** Reports whether a key has ever existed, including revoked ones. */
  hasAny(): boolean;
}

/** A held send as stored. */
export interface StoredApproval extends Approval {
  readonly options: SendPreferences;
  readonly shown: string;
  /** Identifies the request, so that a repeated request is not held twice. */
  readonly ask: string;
  /** True if an Idempotency-Key identifies the request, which is then remembered for 30 days. */
  readonly hasKey: boolean;
  /** Keyed hash of recipient, text and files. */
  readonly requestHash: string;
  /** Keyed hash of the text. It stays when the text is erased. */
  readonly textHmac: string;
  readonly createdMs: number;
  readonly expiresMs: number;
}

export interface ApprovalStore {
  add(approval: StoredApproval): void;
  get(id: string): StoredApproval | undefined;
  /** Newest first. */
  list(state: ApprovalState | undefined, limit: number): readonly StoredApproval[];
  /**
   * Returns the request's newest approval. Ignores approvals created before `sinceMs`, unless their send is still
   * scheduled.
   */
  ofAsk(ask: string, sinceMs: number): StoredApproval | undefined;
  countHeld(keyId: string): number;
  heldBytes(): number;
  /** Ids of held sends that have expired. */
  due(nowMs: number): readonly string[];
  /** When the next held send expires. */
  nextExpiryMs(): number | undefined;
  /**
   * Decides a held send durably, in one statement. Returns false if it was decided already, has expired, or `shown`
   * differs. Every final state erases the text.
   */
  decide(
    id: string,
    state: ApprovalState,
    decision: { readonly at: string; readonly by: string | null; readonly nowMs: number; readonly shown?: string },
  ): boolean;
  /**
   * Deletes approvals that expired, or would have expired, more than 30 days ago. Beyond 10,000, also deletes the
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
  /** Only for a send that was allowed: true if the recipient was new. `ask` then identifies the request. */
  readonly isNew?: boolean;
  readonly ask?: string;
}

export interface AuditQuery {
  readonly keyId?: string | undefined;
  /** Only lines after this number. If absent, the newest lines. */
  readonly after?: number | undefined;
  /** Only lines before this number. */
  readonly before?: number | undefined;
  readonly sinceMs?: number | undefined;
  readonly action?: AuditAction | undefined;
  readonly outcome?: string | undefined;
  readonly target?: string | undefined;
  /** Newest first if true, else oldest first. */
  readonly isNewestFirst?: boolean | undefined;
  readonly limit: number;
}

/** How often a key did `what` in the span of time that begins at `atMs`. */
export interface KeyUses {
  readonly keyId: string;
  readonly atMs: number;
  readonly what: keyof KeyUse;
  readonly count: number;
}

/** Number of sends in a period, and when the oldest of them leaves the period. */
export interface SendCount {
  readonly count: number;
  readonly freeAtMs: number;
}

export interface SendCounts {
  readonly minute: SendCount;
  readonly day: SendCount;
  /** New recipients in the last day, each counted once. This recipient is not counted. */
  readonly newContacts: SendCount;
  /** The sends of all limited keys together in the last day. */
  readonly dayOfAll: SendCount;
}

export interface AuditStore {
  /** Adds a line and returns its number. */
  add(note: AuditNote, atMs: number): number;
  /** Adds further occurrences to each of these lines. */
  count(lines: readonly { readonly id: number; readonly more: number }[]): void;
  list(query: AuditQuery): readonly AuditEntry[];
  /** Counts the actions of limited keys since `sinceMs`, in spans of `lengthMs`. */
  uses(sinceMs: number, lengthMs: number): readonly KeyUses[];
  /** Returns a key's earlier sends, on which the decision about another send to `target` depends. */
  sends(keyId: string, target: string | null, nowMs: number): SendCounts;
  /** Returns when the request's newest line was written. Ignores lines from before `sinceMs`. */
  ask(ask: string, sinceMs: number): number | undefined;
  /**
   * Removes lines that are too old, and if there are too many, the oldest ones. Always keeps the lines of the last 24
   * hours that count towards caps.
   */
  trim(nowMs: number): void;
}

export interface NewKey {
  readonly name: string;
  readonly preset?: Preset | undefined;
  readonly scopes?: readonly Scope[] | undefined;
  readonly settings: KeyChanges;
}

/** Settings in the form that clients use: lists contain addresses and chat ids. */
export type KeyChanges = Partial<
  Omit<KeySettings, 'read' | 'send' | 'caps'> & {
    readonly read: '*' | readonly string[];
    readonly send: '*' | readonly string[];
    readonly caps: Partial<KeySettings['caps']>;
  }
>;

/**
 * The limited keys. Methods throw `key_not_found` for unknown ids, and `invalid_request` for list entries that match no
 * conversation or person.
 */
export interface Keys {
  list(): readonly KeyRecord[];
  get(id: string): KeyRecord;
  /** Returns this caller's own key. */
  mine(caller: Caller): KeyRecord;
  /** Creates a key. `key` in the result is the only place where the secret ever appears. */
  add(key: NewKey): KeyRecord & { readonly key: string };
  change(id: string, changes: KeyChanges): KeyRecord;
  /** Reports the key's rights towards this recipient. Sends nothing. */
  check(id: string, recipient: string): KeyCheck;
  rotate(id: string): KeyRecord & { readonly key: string };
  revoke(id: string): KeyRevocation;
  /** The newest revoked keys, whose names the audit log and decided approvals still need. */
  revoked(): readonly KeyRecord[];
}

/** The held sends that a caller may see or decide. Other held sends do not exist for the caller. */
export interface Approvals {
  list(query: { readonly state?: ApprovalState | undefined; readonly waitMs: number }): Promise<readonly Approval[]>;
  /** Returns an approval. Waits until it has ended, at most `waitMs`. */
  get(id: string, waitMs: number): Promise<Approval>;
  /**
   * Throws `approval_changed` if `shown` differs from what would be sent, and `already_decided` if it was decided
   * meanwhile.
   */
  approve(id: string, shown: string): Promise<Approval>;
  deny(id: string): Promise<Approval>;
  withdraw(id: string): Promise<void>;
  /** Reports whether the owner has never written to the recipient; undefined if unknown. */
  isNewContact(approval: Pick<Approval, 'to'>): boolean | undefined;
}

export interface AuditLog {
  list(query: AuditQuery): readonly AuditEntry[];
  /** The actions of each limited key since midnight. */
  usedToday(): ReadonlyMap<string, KeyUse>;
}

/** The ports that only the owner's routes use. Loaded on first use. */
export interface AccessService {
  readonly keys: Keys;
  readonly audit: AuditLog;
  readonly selfChat: SelfChats;
}

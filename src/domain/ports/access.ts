import type { Approval, ApprovalState } from '../approval.ts';
import type { AuditAction, AuditEntry } from '../audit.ts';
import type { Caller } from '../caller.ts';
import type { Key, KeyCheck, KeyRecord, KeySettings, Preset, Scope } from '../key.ts';
import type { SelfChats } from './self-chat.ts';

/** A chat as access checks need it. */
export interface ChatMembers {
  /** Exactly as stored. */
  readonly guid: string;
  readonly isGroup: boolean;
  /** Addresses as stored, without the owner's own; empty when they are not known. */
  readonly members: readonly string[];
  /** No list of a key opens it. */
  readonly isClosed?: true;
}

/** Who is in which chat of chat.db. Every method throws AppError `chat_db_unavailable` while it cannot be read. */
export interface ChatDirectory {
  /** Another value after each commit to chat.db: what was found before may be wrong then. */
  version(): unknown;
  /** Chats that a recipient means, best first, as a send finds them. */
  meant(recipient: string): readonly ChatMembers[];
  /** The chat with exactly this guid. */
  chat(guid: string): ChatMembers | undefined;
  /** Every chat, group or not, that somebody with this address is in. */
  withMember(address: string): readonly ChatMembers[];
  /** The conversation of a row; undefined when the row is gone. */
  conversationOf(rowId: number): string | undefined;
  /** True when the owner ever sent anything to this chat. */
  hasOwnMessage(guid: string): boolean;
}

/** A key as it is kept: hashes of its secrets, and when it was revoked. */
export interface StoredKey extends Key {
  readonly hash: string;
  /** The secret before a rotation, valid for a while. */
  readonly previous: { readonly hash: string; readonly untilMs: number } | null;
}

export interface KeyStore {
  /** Those that were not revoked, oldest first. */
  list(): readonly StoredKey[];
  add(key: StoredKey): void;
  update(key: StoredKey): void;
  noteUse(id: string, at: string): void;
  /** It is not listed any more; its row stays for the audit log. */
  revoke(id: string, at: string): void;
  /** The secret of this installation with this name, made at the first call. */
  secret(name: string, make: () => string): string;
  /** True once there was a key, revoked ones included. */
  hasAny(): boolean;
}

/** A held send as it is kept. */
export interface StoredApproval extends Approval {
  readonly shown: string;
  /** Which ask it answers, so that the same ask is not held twice. */
  readonly ask: string;
  /** True when an Idempotency-Key names the ask, which is then known for 30 days. */
  readonly hasKey: boolean;
  /** Keyed hash of recipient, text and files. */
  readonly requestHash: string;
  /** Stays when the text is erased. */
  readonly textHmac: string;
  readonly createdMs: number;
  readonly expiresMs: number;
}

export interface ApprovalStore {
  add(approval: StoredApproval): void;
  get(id: string): StoredApproval | undefined;
  /** Newest first. */
  list(state: ApprovalState | undefined, limit: number): readonly StoredApproval[];
  /** The newest one for an ask made at or after `sinceMs`. */
  ofAsk(ask: string, sinceMs: number): StoredApproval | undefined;
  countHeld(keyId: string): number;
  heldBytes(): number;
  /** Ids of those held whose time is over. */
  due(nowMs: number): readonly string[];
  /** When the next one expires. */
  nextExpiryMs(): number | undefined;
  /**
   * Decides a held one durably, in one statement: false when another decision came first, when it has expired, or when
   * `shown` is another one. Every end erases the text.
   */
  decide(
    id: string,
    state: ApprovalState,
    decision: { readonly at: string; readonly by: string | null; readonly nowMs: number; readonly shown?: string },
  ): boolean;
  /**
   * Forgets what expired, or would have, more than 30 days ago; and beyond 10,000 the oldest that ended, except those
   * with an Idempotency-Key.
   */
  prune(nowMs: number): void;
  /** How an approved one ended. */
  finish(
    id: string,
    state: ApprovalState,
    end: { readonly messageId: string | null; readonly problem: string | null },
  ): void;
}

/** What is noted in the audit log. */
export interface AuditNote {
  readonly keyId: string;
  readonly action: AuditAction;
  readonly target?: string | null;
  readonly outcome: string;
  readonly textHmac?: string;
  /** Of a send that was let through: whether the owner had written there before, and which ask it was. */
  readonly isNew?: boolean;
  readonly ask?: string;
}

export interface AuditQuery {
  readonly keyId?: string | undefined;
  /** Absent: the newest. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** Sends in a time, and when the oldest of them counts no more. */
export interface SendCount {
  readonly count: number;
  readonly freeAtMs: number;
}

export interface SendCounts {
  readonly minute: SendCount;
  readonly day: SendCount;
  /** People other than the one that is asked about. */
  readonly newContacts: SendCount;
  /** Of all limited keys together. */
  readonly dayOfAll: SendCount;
}

export interface AuditStore {
  /** Gives the number of the line. */
  add(note: AuditNote, atMs: number): number;
  /** Counts more of the same on each of these lines. */
  count(lines: readonly { readonly id: number; readonly more: number }[]): void;
  list(query: AuditQuery): readonly AuditEntry[];
  /** What a key was let send before, for another send to `target`. */
  sends(keyId: string, target: string | null, nowMs: number): SendCounts;
  /** When the line of an ask was written, at or after `sinceMs`. */
  ask(ask: string, sinceMs: number): number | undefined;
  /** Removes what is older or more than is kept. */
  trim(nowMs: number): void;
}

/** A key to be made. */
export interface NewKey {
  readonly name: string;
  readonly preset?: Preset | undefined;
  readonly scopes?: readonly Scope[] | undefined;
  readonly settings: KeyChanges;
}

/** As a client names them: lists of addresses and chat ids. */
export type KeyChanges = Partial<
  Omit<KeySettings, 'read' | 'send' | 'caps'> & {
    readonly read: '*' | readonly string[];
    readonly send: '*' | readonly string[];
    readonly caps: Partial<KeySettings['caps']>;
  }
>;

/** The keys beside the owner's. Unknown ids throw `key_not_found`; entries of lists that mean nobody `invalid_request`. */
export interface Keys {
  list(): readonly KeyRecord[];
  get(id: string): KeyRecord;
  /** Of the key that asks. */
  mine(caller: Caller): KeyRecord;
  /** `key` is the only place where the secret is ever given. */
  add(key: NewKey): KeyRecord & { readonly key: string };
  change(id: string, changes: KeyChanges): KeyRecord;
  /** What the key may do with somebody. Nothing is sent. */
  check(id: string, recipient: string): KeyCheck;
  rotate(id: string): KeyRecord & { readonly key: string };
  revoke(id: string): void;
}

/** The held sends that a caller may see or decide. Those of others do not exist for it. */
export interface Approvals {
  list(query: { readonly state?: ApprovalState | undefined; readonly waitMs: number }): Promise<readonly Approval[]>;
  /** Waits until it ended, or `waitMs`. */
  get(id: string, waitMs: number): Promise<Approval>;
  /** Throws `approval_changed` when `shown` is not what would be sent, `already_decided` when somebody was faster. */
  approve(id: string, shown: string): Promise<Approval>;
  deny(id: string): Promise<Approval>;
  withdraw(id: string): Promise<void>;
}

export interface AuditLog {
  list(query: AuditQuery): readonly AuditEntry[];
}

/** What only the owner's routes use. It is loaded when it is first needed. */
export interface AccessService {
  readonly keys: Keys;
  readonly audit: AuditLog;
  readonly selfChat: SelfChats;
}

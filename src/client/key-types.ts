import type { AccessList, Key, Scope } from '../core/model/key.ts';

/** The sends that the owner must approve: all, only the first to a new recipient, or none. */
export const APPROVAL_MODES = ['always', 'new', 'never'] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** The maximum numbers of messages that a key may send. */
export interface Caps {
  readonly per_minute: number;
  readonly per_day: number;
  /**
   * Number of new recipients a day: people and groups that the owner has never written to. Several messages to the same
   * recipient count once.
   */
  readonly new_contacts_per_day: number;
}

/** The settings of a key that the owner may change. */
export interface KeySettings {
  readonly read: AccessList;
  readonly send: AccessList;
  readonly approval: ApprovalMode;
  readonly caps: Caps;
  /** True if every send is a dry run. */
  readonly dry_run: boolean;
  /** ISO 8601 UTC; null means never. */
  readonly expires_at: string | null;
  /** Hosts, besides this machine, to which the key's webhooks may post. A host may include a port. */
  readonly callback_hosts: readonly string[];
  /** Maximum seconds for which one request under this key may wait, such as for an event. */
  readonly max_wait_s: number;
}

/** A limited key without its secret. */
export interface KeyDetails extends Key, KeySettings {
  readonly name: string;
  readonly created_at: string;
  /** When the key was last used; updated at most once a minute. Null before the first use. */
  readonly last_used_at: string | null;
}

/**
 * A group to which a key may no longer send, because the people in `joined` joined it after the owner added it to the
 * key's list.
 */
export interface ClosedGroup {
  readonly conversation_id: string;
  readonly joined: readonly string[];
}

/**
 * How many more messages each of a key's caps allows. The daily limit for all limited keys together lowers these
 * numbers too.
 */
export type Remaining = Caps;

/** A key as the API shows it. */
export interface KeyRecord extends Omit<KeyDetails, 'read' | 'send' | 'caps'> {
  readonly read: '*' | readonly string[];
  readonly send: '*' | readonly string[];
  /** Null for the owner's key, which has no caps. */
  readonly caps: Caps | null;
  readonly remaining: Remaining | null;
  readonly closed: readonly ClosedGroup[];
  /** The key's actions since midnight. Present only in the list of keys. */
  readonly today?: KeyUse | undefined;
  /** Present only for a revoked key. */
  readonly revoked_at?: string | undefined;
}

/** The result of revoking a key: how many scheduled and held sends the revocation ended. */
export interface KeyRevocation {
  readonly id: string;
  /** Number of the key's scheduled sends that were cancelled. */
  readonly scheduled_cancelled: number;
  /** Number of the key's held sends that nobody can approve any longer. */
  readonly approvals_voided: number;
}

/** A key's rights towards one recipient. */
export interface KeyCheck {
  readonly to: string;
  /** The addresses of everyone who would read a message to `to`; empty if its readers are uncertain. */
  readonly members: readonly string[];
  /** True if the key may read the conversation. */
  readonly read: boolean;
  readonly send: 'allowed' | 'held' | 'refused';
  /** Code of the refusal; null unless `send` is `refused`. */
  readonly reason: 'scope_missing' | 'recipient_not_allowed' | null;
}

/** The scopes and approval mode of a key that is created from a preset, unless the owner chooses others. */
export const PRESETS = {
  reader: { scopes: ['read', 'events'], approval: 'always' },
  assistant: { scopes: ['read', 'events', 'send'], approval: 'always' },
  notifier: { scopes: ['send'], approval: 'never' },
  approver: { scopes: ['approve'], approval: 'always' },
} as const satisfies Record<string, { readonly scopes: readonly Scope[]; readonly approval: ApprovalMode }>;
export type Preset = keyof typeof PRESETS;

/** Maximum number of keys besides the owner's. */
export const MAX_KEYS = 1000;

/** Returns the highest number that a cap can have. */
export const maxCap = (name: keyof Caps): number => (name === 'per_minute' ? 60 : 200);

export const DEFAULT_CAPS: Caps = { per_minute: 10, per_day: 100, new_contacts_per_day: 5 };

/** Numbers from the audit log: how often a limited key read, asked to send, sent, and was refused. */
export interface KeyUse {
  readonly read: number;
  readonly asked: number;
  readonly sent: number;
  readonly refused: number;
}

export const NO_USE: KeyUse = { read: 0, asked: 0, sent: 0, refused: 0 };

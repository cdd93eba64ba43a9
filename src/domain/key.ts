import type { KeyUse } from './statistics.ts';

/** The form of a limited key's secret. The first group is the key's id. */
export const LIMITED_KEY = /^postern_([0-9a-f]{8})_[\w-]{43}$/;

/** The scopes of a limited key. Everything else is reserved for the owner. */
export const SCOPES = ['read', 'events', 'send', 'webhooks', 'approve'] as const;
export type Scope = (typeof SCOPES)[number];

/** The sends that the owner must approve: all, only the first to a new recipient, or none. */
export const APPROVAL_MODES = ['always', 'new', 'never'] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** A person by a canonical address, or a group by its id with the members that it had when the owner listed it. */
export type ListEntry = { readonly address: string } | { readonly group: string; readonly members: readonly string[] };

/** The people a key may read or write to. An empty list means no one; `*` means everyone. */
export type AccessList = '*' | readonly ListEntry[];

/** How many messages a key may send. */
export interface Caps {
  readonly per_minute: number;
  readonly per_day: number;
  /** First messages to people whom the owner has never written to. */
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
  /** Hosts besides this machine that its webhooks may post to, with or without a port (decision P7). */
  readonly callback_hosts: readonly string[];
  /** Seconds that one of its requests may wait (decision Y7). */
  readonly max_wait_s: number;
}

/** A limited key without its secret. */
export interface Key extends KeySettings {
  /** Eight hexadecimal digits, which are also part of the secret. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly created_at: string;
  /** Updated at most once a minute. */
  readonly last_used_at: string | null;
}

/** A key's right to send to a recipient: at once, after approval, or not at all. */
export type SendRight = 'yes' | 'held' | 'no';

/** A group closed for sending because somebody joined after the owner listed the group. */
export interface ClosedGroup {
  readonly conversation_id: string;
  readonly joined: readonly string[];
}

/** The unused part of a key's caps. */
export type Remaining = Caps;

/** A key as the API shows it. */
export interface KeyRecord extends Omit<Key, 'read' | 'send' | 'caps'> {
  readonly read: '*' | readonly string[];
  readonly send: '*' | readonly string[];
  /** Null for the owner's key, which has none. */
  readonly caps: Caps | null;
  readonly remaining: Remaining | null;
  readonly closed: readonly ClosedGroup[];
  /** Its actions since midnight; only in the owner's list. */
  readonly today?: KeyUse | undefined;
  /** Present only for a revoked key. */
  readonly revoked_at?: string | undefined;
}

/** A revoked key, and the sends that were ended with it. */
export interface KeyRevocation {
  readonly id: string;
  /** Number of its scheduled sends that were cancelled. */
  readonly scheduled_cancelled: number;
  /** Number of its held sends that nobody can approve any longer. */
  readonly approvals_voided: number;
}

/** A key's rights towards one recipient. */
export interface KeyCheck {
  readonly to: string;
  /** Everyone who would read the message; empty if that is uncertain. */
  readonly members: readonly string[];
  /** True if the key may read the conversation. */
  readonly read: boolean;
  readonly send: 'allowed' | 'held' | 'refused';
  /** Code of the refusal. */
  readonly reason: 'scope_missing' | 'recipient_not_allowed' | null;
}

/** The settings that each preset provides unless the owner overrides them. */
export const PRESETS = {
  reader: { scopes: ['read', 'events'], approval: 'always' },
  assistant: { scopes: ['read', 'events', 'send'], approval: 'always' },
  notifier: { scopes: ['send'], approval: 'never' },
  approver: { scopes: ['approve'], approval: 'always' },
} as const satisfies Record<string, { readonly scopes: readonly Scope[]; readonly approval: ApprovalMode }>;
export type Preset = keyof typeof PRESETS;

/** The longest wait of a request, in seconds: clients give up after 60. */
export const MAX_WAIT_S = 50;

export const DEFAULT_CAPS: Caps = { per_minute: 10, per_day: 100, new_contacts_per_day: 5 };

/** What a limited key may be used for. Everything else is the owner's alone. */
export const SCOPES = ['read', 'events', 'send', 'webhooks', 'approve'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether the owner decides each send: always, only where the owner has never written, or never. */
export const APPROVAL_MODES = ['always', 'new', 'never'] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** A person by a canonical address, or a group by its id with the members it had when the owner listed it. */
export type ListEntry = { readonly address: string } | { readonly group: string; readonly members: readonly string[] };

/** Whom a key may read or write to. An empty list is nobody; everybody is written out. */
export type AccessList = '*' | readonly ListEntry[];

/** How much a key may send. */
export interface Caps {
  readonly per_minute: number;
  readonly per_day: number;
  /** First messages to people whom the owner has never written to. */
  readonly new_contacts_per_day: number;
}

/** What the owner may change of a key. */
export interface KeySettings {
  readonly read: AccessList;
  readonly send: AccessList;
  readonly approval: ApprovalMode;
  readonly caps: Caps;
  /** Every send is a dry run. */
  readonly dry_run: boolean;
  /** ISO 8601 UTC; null: never. */
  readonly expires_at: string | null;
}

/** A key beside the owner's, without its secret. */
export interface Key extends KeySettings {
  /** Eight hexadecimal digits, also part of the key itself. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly created_at: string;
  /** Written at most once a minute. */
  readonly last_used_at: string | null;
}

/** Whether a key may write somewhere: at once, after the owner's decision, or not at all. */
export type SendRight = 'yes' | 'held' | 'no';

/** A group that is closed for sending because somebody joined it after the owner listed it. */
export interface ClosedGroup {
  readonly conversation_id: string;
  readonly joined: readonly string[];
}

/** What is left of a key's caps now. */
export type Remaining = Caps;

/** A key as the API shows it. */
export interface KeyRecord extends Omit<Key, 'read' | 'send' | 'caps'> {
  readonly read: '*' | readonly string[];
  readonly send: '*' | readonly string[];
  /** null: the owner's key has none. */
  readonly caps: Caps | null;
  readonly remaining: Remaining | null;
  readonly closed: readonly ClosedGroup[];
}

/** What a key may do with somebody. */
export interface KeyCheck {
  readonly to: string;
  /** Who would read it; empty when that is not certain. */
  readonly members: readonly string[];
  /** Whether it may read the conversation. */
  readonly read: boolean;
  readonly send: 'allowed' | 'held' | 'refused';
  /** Code of the refusal. */
  readonly reason: 'scope_missing' | 'recipient_not_allowed' | null;
}

/** What each preset fills in where the owner says nothing. */
export const PRESETS = {
  reader: { scopes: ['read', 'events'], approval: 'always' },
  assistant: { scopes: ['read', 'events', 'send'], approval: 'always' },
  notifier: { scopes: ['send'], approval: 'never' },
} as const satisfies Record<string, { readonly scopes: readonly Scope[]; readonly approval: ApprovalMode }>;
export type Preset = keyof typeof PRESETS;

export const DEFAULT_CAPS: Caps = { per_minute: 10, per_day: 100, new_contacts_per_day: 5 };

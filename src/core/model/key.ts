/** The form of a limited key's secret. The first group is the key's id. */
export const LIMITED_KEY = /^postern_([0-9a-f]{8})_[\w-]{43}$/;

/** The scopes of a limited key. Everything else is reserved for the owner. */
export const SCOPES = ['read', 'events', 'send', 'webhooks', 'approve'] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * An entry of a key's list: a person, by canonical address, or a group, by id. `members` are the group's members at the
 * time when the owner added it to the list.
 */
export type ListEntry = { readonly address: string } | { readonly group: string; readonly members: readonly string[] };

/**
 * The people and groups whose messages a key may read, or to whom it may send. An empty list means no one; `*` means
 * everyone.
 */
export type AccessList = '*' | readonly ListEntry[];

/** A limited key, as far as the core knows it. */
export interface Key {
  /** Eight hexadecimal digits, which are also part of the secret. */
  readonly id: string;
  readonly scopes: readonly Scope[];
  readonly read: AccessList;
  /** Maximum seconds for which one request under this key may wait, such as for an event. */
  readonly max_wait_s: number;
}

/** A key's right to send to a recipient: at once, once the owner agrees, or not at all. */
export type SendRight = 'yes' | 'held' | 'no';

/**
 * Maximum seconds for which any request may wait, such as for an event. Must be less than 60 s, because clients give up
 * after 60 s.
 */
export const MAX_WAIT_S = 50;

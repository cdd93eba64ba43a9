import type { MessageDetails } from './details.ts';
import type { LogEntry } from './event.ts';
import type { IncludeSet } from './include.ts';
import type { Key, Scope, SendRight } from './key.ts';
import type { Approvals } from './ports/access.ts';
import type { NameLookup } from './ports/contacts.ts';
import type { EventFeed } from './ports/feed.ts';
import type { Cancel } from './ports/host.ts';
import type { People } from './ports/people.ts';
import type { AttachmentReader, MessageReader } from './ports/reading.ts';
import type { SearchIndex, SearchNames } from './ports/search.ts';
import type { CallerSender } from './ports/sending.ts';
import type { Uploads } from './ports/uploads.ts';
import type { WebhookRegistry } from './ports/webhooks.ts';
import { problem } from './problems.ts';
import type { StatusReport } from './status.ts';

/**
 * Who asks, and what is there for them. The owner has the service's own ports; a limited key has the same ports,
 * narrowed to what it may use, so that a handler never checks a right itself.
 */
export interface Caller extends SearchNames {
  /** undefined: the owner, whose key is in config.toml. */
  readonly key: Key | undefined;
  readonly reader: MessageReader;
  readonly people: People;
  readonly attachments: AttachmentReader;
  readonly feed: EventFeed;
  readonly sender: CallerSender;
  readonly uploads: Uploads;
  readonly webhooks: WebhookRegistry;
  readonly search: SearchIndex;
  readonly approvals: Approvals;
  status(): StatusReport | Promise<StatusReport>;
  /** Writes an event as JSON with what is to be included, as far as this caller may see it. */
  readonly json: (entry: LogEntry, include: IncludeSet) => string;
  /** Of a limited key: whether it may write to this address or conversation. */
  readonly canSend?: (recipient: string) => SendRight;
  /** Of a limited key: how many WebSockets and streams it keeps open. */
  readonly streams?: StreamCount;
  /** Of a limited key: notes in the audit log that a route refused it. */
  readonly onRefused?: (code: string) => void;
  /** Of a limited key: throws when it was revoked or has expired since it was let in. */
  readonly assertAlive?: () => void;
  /** Of a limited key: calls `run` once when it is revoked or has expired, at once if that is so already. */
  readonly onEnd?: (run: () => void) => Cancel;
}

/** The WebSockets and streams that one limited key keeps open. */
export interface StreamCount {
  /** Counts one, until what it gives is called once. Throws `too_many_streams`. */
  open(): Cancel;
}

/** What a limited key may see of the events that it is shown. */
export interface EventView {
  /** In place of all names. */
  readonly names: NameLookup;
  /** Without what is of a conversation that is not there for it. */
  readonly details: (details: MessageDetails) => MessageDetails;
}

/** Finds the caller behind a key. */
export interface Callers {
  readonly owner: Caller;
  /** The caller with this limited key; undefined when it is unknown, wrong, expired or revoked. */
  find(key: string): Caller | undefined;
}

/**
 * The rule of a route. `open`: without a key; `key`: every key; `owner`: the owner alone; otherwise the owner, and a
 * limited key with one of these scopes.
 */
export type Access = 'open' | 'key' | 'owner' | readonly Scope[];

/** Whether the rule lets this caller in. */
export function isAllowed({ key }: Pick<Caller, 'key'>, access: Access): boolean {
  if (key === undefined || access === 'open' || access === 'key') return true;
  return access !== 'owner' && access.some((scope) => key.scopes.includes(scope));
}

/** Throws `scope_missing` unless the rule lets this caller in. */
export function assertAllowed(caller: Caller, access: Access): void {
  if (isAllowed(caller, access)) return;
  caller.onRefused?.('scope_missing');
  const needs = typeof access === 'string' ? access : access.join(' or ');
  const named = access === 'owner' ? "the owner's key" : `the scope ${needs}`;
  throw problem('scope_missing', { needs: named }, { extra: { needs } });
}

import type { MessageDetails } from './details.ts';
import type { LogEntry } from './event.ts';
import type { IncludeSet } from './include.ts';
import { type Key, MAX_WAIT_S, type Scope, type SendRight } from './key.ts';
import type { Port } from './port.ts';
import type { EventFeed, RowFeed } from './ports/feed-ports.ts';
import type { Cancel } from './ports/host-ports.ts';
import type { NameLookup, NameSource } from './ports/names-ports.ts';
import type { AttachmentReader, MessageReader } from './ports/reading-ports.ts';
import type { CallerSender } from './ports/sending-ports.ts';
import type { Uploads } from './ports/uploads-ports.ts';
import type { WebhookRegistry } from './ports/webhooks-ports.ts';
import { problem } from './problems.ts';
import type { ReactionDetails } from './reaction.ts';
import type { StatusReport } from './status.ts';

/** A caller of any service, also of one without the ports of a Mac. */
export interface EventCaller {
  /** Undefined for the owner, whose key is in config.toml. */
  readonly key: Key | undefined;
  readonly feed: EventFeed;
  readonly webhooks: WebhookRegistry;
  /**
   * Serialises an event with the requested includes, as far as this caller may see it. Returns a promise while the
   * event's details are being read.
   */
  readonly json: (entry: LogEntry, include: IncludeSet) => string | Promise<string>;
  /** For a limited key: returns its right to send to an address or conversation. */
  readonly canSend?: (recipient: string) => SendRight;
  /** For a limited key: counts its open WebSockets and streams. */
  readonly streams?: StreamCount;
  /** For a limited key: records that a route refused a request. */
  readonly onRefused?: (code: string) => void;
  /** For a limited key: throws if the key was revoked or has expired since the request was admitted. */
  readonly assertAlive?: () => void;
  /** For a limited key: calls `run` when the key is revoked or expires, or immediately if that has already happened. */
  readonly onEnd?: (run: () => void) => Cancel;
}

/**
 * The caller of a request, with the interfaces that handlers use to serve the caller. The owner has the service's own
 * interfaces. A limited key has interfaces that are narrowed to its rights, so that no handler checks a right itself.
 */
export interface Caller extends EventCaller {
  readonly reader: MessageReader;
  readonly attachments: AttachmentReader;
  readonly sender: CallerSender;
  readonly uploads: Uploads;
  /** The names of people. */
  readonly naming: NameSource;
  /** Returns a port that a feature added. Throws `not_available` if no feature of this service provides it. */
  port<Service>(port: Port<Service>): Service;
  status(): StatusReport | Promise<StatusReport>;
}

/** A caller of a service that reads this Mac's own rows. */
export interface MacCaller extends Caller {
  readonly feed: RowFeed;
}

/** Counts the open WebSockets and streams of one limited key. */
export interface StreamCount {
  /** Reserves a slot. Call the result to release the slot. Throws `too_many_streams`. */
  open(): Cancel;
}

/** Limits the names and details of an event to those that a limited key may see. */
export interface EventView {
  /** The names that the key may see. Only these are added to an event. */
  readonly names: NameLookup;
  /** Returns the details without anything from conversations that the key may not read. */
  readonly details: (details: MessageDetails) => MessageDetails;
  /** Returns what the key may see of the details of a reaction. */
  readonly reactionDetails: (details: ReactionDetails) => ReactionDetails;
}

/** Finds the caller to whom a key belongs. */
export interface Callers {
  readonly owner: Caller;
  /** Returns the caller with this limited key; undefined if the key is unknown, wrong, expired or revoked. */
  find(key: string): Caller | undefined;
}

/**
 * A route's rule. `open`: no key needed; `key`: any key; `owner`: only the owner; a list: the owner, and limited keys
 * with one of these scopes.
 */
export type Access = 'open' | 'key' | 'owner' | readonly Scope[];

/** Reports whether a route with the rule `access` admits this caller. */
export function isAllowed({ key }: Pick<Caller, 'key'>, access: Access): boolean {
  if (key === undefined || access === 'open' || access === 'key') return true;
  return access !== 'owner' && access.some((scope) => key.scopes.includes(scope));
}

/** Returns the requested wait in seconds, but at most the key's `max_wait_s`, or `MAX_WAIT_S` for the owner. */
export function allowedWait({ key }: Pick<Caller, 'key'>, seconds: number): number {
  return Math.min(seconds, key?.max_wait_s ?? MAX_WAIT_S);
}

/** Throws `scope_missing` unless a route with the rule `access` admits this caller. */
export function assertAllowed(caller: Caller, access: Access): void {
  if (isAllowed(caller, access)) return;
  caller.onRefused?.('scope_missing');
  const needs = typeof access === 'string' ? access : access.join(' or ');
  const named = access === 'owner' ? "the owner's key" : `the scope ${needs}`;
  throw problem('scope_missing', { needs: named }, { extra: { needs } });
}

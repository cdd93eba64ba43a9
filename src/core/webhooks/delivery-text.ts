import type { Caller } from '../model/caller.ts';
import type { LogEntry } from '../model/event.ts';
import type { IncludeSet } from '../model/include.ts';
import type { WireEventJson } from '../model/ports/wires-ports.ts';
import { problem } from '../model/problems.ts';
import type { StoredWebhook } from '../model/webhook.ts';
import type { EventJson } from '../schema/event-json.ts';

export interface DeliveryTextParts {
  readonly json: EventJson;
  /** The serialisers of other programs' protocols that are switched on. Key: the protocol. */
  readonly wires?: ReadonlyMap<string, WireEventJson> | undefined;
  /** Resolves once the requested includes are loaded. Returns undefined if they already are. */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
  /** Returns the ports of a limited key; undefined if the key has expired or was revoked. */
  readonly callerOf?: ((keyId: string) => Caller | undefined) | undefined;
}

/**
 * Returns the ports of a webhook's key; undefined for a webhook of the owner. Throws `unauthorized` if the key is no
 * longer valid.
 */
export function callerOf(parts: DeliveryTextParts, { keyId }: StoredWebhook): Caller | undefined {
  if (keyId === null) return undefined;
  const caller = parts.callerOf?.(keyId);
  if (caller === undefined) throw problem('unauthorized');
  return caller;
}

/**
 * Returns the text of an event as the receiver gets it; undefined if the receiver's protocol has no such event. Callers
 * first wait for `ready`, so that the includes are loaded.
 */
export async function deliveryText(
  { json, wires }: DeliveryTextParts,
  { wire, include }: StoredWebhook,
  entry: LogEntry,
  caller: Caller | undefined,
): Promise<string | undefined> {
  if (wire !== undefined) return caller && wires?.get(wire.protocol)?.(entry, caller);
  return (caller?.json ?? json)(entry, include);
}

import { NO_INCLUDES } from '../../../../core/model/include.ts';
import type { Offset } from '../../../../core/model/offset.ts';
import type { StoredWebhook } from '../../../../core/model/webhook.ts';
import { type Envelope, HUBS, pack, unpack } from '../../protocol/envelope.ts';
import { webhooksLease } from '../../protocol/fleet-records-schema.ts';
import type { LeaseParts, LeaseRecord } from '../../protocol/lease.ts';

export const LEASE_KEY = 'lease';
const CONTEXT = [LEASE_KEY];

/** A webhook as all hubs know it. */
export interface FleetWebhook extends Omit<StoredWebhook, 'offset' | 'include'> {
  /** The client offset up to which every event was handled. */
  readonly after: string;
}

/** The state of the lease. Exactly these webhooks exist, in the order of registration. */
export interface WebhooksState {
  /**
   * Identifies the hub that has the records of deliveries and dropped events, by the id of that hub's copy of the
   * stream.
   */
  readonly history: string;
  readonly webhooks: readonly FleetWebhook[];
}

export const NO_WEBHOOKS: WebhooksState = { history: '', webhooks: [] };

/**
 * Returns how to encode and decode the lease. The lease contains secrets, so it is sealed with a key that only hubs
 * have.
 */
export function sealedRecords(envelope: Envelope): Pick<LeaseParts<WebhooksState>, 'encode' | 'decode'> {
  return {
    encode: (record) => pack(envelope, HUBS, CONTEXT, record),
    decode: (bytes) => unpack(webhooksLease, envelope, HUBS, CONTEXT, bytes) as unknown as LeaseRecord<WebhooksState>,
  };
}

export function fleetWebhook({ offset: _offset, include: _include, ...webhook }: StoredWebhook, after: string) {
  return { ...webhook, after };
}

/**
 * Returns a webhook of the fleet in the form of this hub's store, at the position `offset`. A hub has no includes
 * (decision N2).
 */
export function storedWebhook({ after: _, ...webhook }: FleetWebhook, offset: Offset): StoredWebhook {
  return { ...webhook, include: NO_INCLUDES, offset };
}

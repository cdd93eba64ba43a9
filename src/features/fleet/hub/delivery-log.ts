import type { DeliveryRecord, DetailedDelivery, WebhookHealth } from '../../../core/model/webhook.ts';
import type { PostResult } from '../../../core/webhooks/delivery-attempts.ts';
import type { FleetParts } from '../protocol/connection.ts';
import { HUBS } from '../protocol/envelope.ts';
import { DELIVERIES, deliverySubject } from '../protocol/subjects.ts';
import { readStream } from './stream-pages.ts';

/** A finished delivery, with its attempts. */
export type LoggedDelivery = DetailedDelivery & Pick<DeliveryRecord, 'outcome'>;

type Parts = Pick<FleetParts, 'connection' | 'envelope'>;

/**
 * Adds to the newest deliveries of a webhook, which every hub can show. Does not wait for the broker: the record of a
 * delivery is not worth delaying the next one.
 */
export function addDelivery(
  { connection, envelope }: Parts,
  webhook: string,
  record: DeliveryRecord,
  { attemptRecords: tries, answer }: PostResult,
): void {
  const subject = deliverySubject(webhook);
  const delivery = { ...record, tries, ...(answer !== '' && { answer: answer.slice(0, 2048) }) };
  try {
    connection.nc.publish(subject, envelope.sealJson(HUBS, subject, delivery));
  } catch {
    // The connection is being closed; the delivery itself is done.
  }
}

/** Returns the deliveries of a webhook, newest first. */
export async function deliveriesOf(
  { connection, envelope }: Parts,
  webhook: string,
): Promise<readonly LoggedDelivery[]> {
  const subject = deliverySubject(webhook);
  const { messages } = await readStream(connection, DELIVERIES, { filter_subjects: subject });
  const opened = messages.flatMap(({ data }) => {
    try {
      return envelope.openJson(HUBS, subject, data) as LoggedDelivery;
    } catch {
      return [];
    }
  });
  return opened.toReversed();
}

/** Returns what the deliveries say about the receiver's health. */
export function healthOf(
  deliveries: readonly LoggedDelivery[],
  { enabled, isHeld }: { readonly enabled: boolean; readonly isHeld: boolean },
): WebhookHealth {
  const posts = deliveries.filter(({ event }) => event !== 'webhook.test');
  const success = posts.findIndex(({ outcome }) => outcome === 'delivered');
  const failures = success === -1 ? posts.length : success;
  const working = isHeld ? 'held' : failures > 0 ? 'failing' : 'healthy';
  return {
    state: enabled ? working : 'paused',
    consecutive_failures: failures,
    last_success_at: posts[success]?.at ?? null,
  };
}

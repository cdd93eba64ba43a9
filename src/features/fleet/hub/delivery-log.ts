import type { DeliveryRecord, DetailedDelivery, WebhookHealth } from '../../../core/model/webhook.ts';
import type { PostResult } from '../../../core/webhooks/delivery-attempts.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import { type Envelope, HUBS } from '../protocol/envelope.ts';
import { DELIVERIES, deliverySubject } from '../protocol/subjects.ts';
import { readStream } from './stream-pages.ts';

/** A finished delivery, with its attempts. */
export type LoggedDelivery = DetailedDelivery & Pick<DeliveryRecord, 'outcome'>;

/** The newest deliveries of each webhook, which every hub can show. */
export class DeliveryLog {
  readonly #connection: FleetConnection;
  readonly #envelope: Envelope;

  constructor({ connection, envelope }: { readonly connection: FleetConnection; readonly envelope: Envelope }) {
    this.#connection = connection;
    this.#envelope = envelope;
  }

  /** Adds a delivery without waiting for the broker: the record of a delivery is not worth delaying the next one. */
  add(webhook: string, record: DeliveryRecord, { attemptRecords: tries, answer }: PostResult): void {
    const subject = deliverySubject(webhook);
    const delivery = { ...record, tries, ...(answer !== '' && { answer: answer.slice(0, 2048) }) };
    try {
      this.#connection.nc.publish(subject, this.#envelope.sealJson(HUBS, subject, delivery));
    } catch {
      // The connection is being closed; the delivery itself is done.
    }
  }

  /** Returns the deliveries of a webhook, newest first. */
  async list(webhook: string): Promise<readonly LoggedDelivery[]> {
    const subject = deliverySubject(webhook);
    const { messages } = await readStream(this.#connection, DELIVERIES, { filter_subjects: subject });
    return messages.flatMap(({ data }) => this.#open(subject, data) ?? []).toReversed();
  }

  #open(subject: string, data: Uint8Array): LoggedDelivery | undefined {
    try {
      return this.#envelope.openJson(HUBS, subject, data) as LoggedDelivery;
    } catch {
      return undefined;
    }
  }
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

import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { DetailedDelivery, WebhookHealth } from '../../../core/model/webhook.ts';
import { managerOf } from '../protocol/connect-once.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import { type Envelope, HUBS } from '../protocol/envelope.ts';
import { DELIVERIES, deliverySubject } from '../protocol/subjects.ts';

const FETCH_MS = 2000;

/** A finished delivery, with its attempts. */
export type LoggedDelivery = DetailedDelivery & { readonly outcome: 'delivered' | 'dropped' | 'gone' };

/** The newest deliveries of each webhook, which every hub can show. */
export class DeliveryLog {
  readonly #connection: FleetConnection;
  readonly #envelope: Envelope;

  constructor({ connection, envelope }: { readonly connection: FleetConnection; readonly envelope: Envelope }) {
    this.#connection = connection;
    this.#envelope = envelope;
  }

  /** Adds a delivery without waiting for the broker: the record of a delivery is not worth delaying the next one. */
  add(webhook: string, delivery: LoggedDelivery): void {
    const subject = deliverySubject(webhook);
    try {
      this.#connection.nc.publish(subject, this.#envelope.sealJson(HUBS, subject, delivery));
    } catch {
      // The connection is being closed; the delivery itself is done.
    }
  }

  /** Returns the deliveries of a webhook, newest first. */
  async list(webhook: string): Promise<readonly LoggedDelivery[]> {
    const subject = deliverySubject(webhook);
    const manager = await managerOf(this.#connection.nc);
    const made = await manager.consumers.add(DELIVERIES, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.All,
      filter_subject: subject,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: nanos(10_000),
    });
    const found: LoggedDelivery[] = [];
    try {
      if (made.num_pending === 0) return found;
      const consumer = await this.#connection.js.consumers.get(DELIVERIES, made.name);
      let left = made.num_pending;
      for await (const { data } of await consumer.fetch({ max_messages: left, expires: FETCH_MS })) {
        const read = this.#open(subject, data);
        if (read !== undefined) found.unshift(read);
        left -= 1;
        if (left === 0) break;
      }
      return found;
    } finally {
      await manager.consumers.delete(DELIVERIES, made.name).catch(() => false);
    }
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

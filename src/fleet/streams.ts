import { AckPolicy, DiscardPolicy, type JetStreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { nanos } from '@nats-io/nats-core';
import { BUCKETS, EVENTS, SENDS, sendConsumer, sendSubject } from './layout.ts';

const HOUR_MS = 3_600_000;

/** What whoever sets up a fleet decides. */
export interface FleetSize {
  /** 1 for one server, 3 for three. */
  readonly replicas: number;
  /** How long events are kept. */
  readonly keepHours: number;
  /** -1: as much as the disk takes. */
  readonly maxBytes: number;
}

export const DEFAULT_SIZE: FleetSize = { replicas: 1, keepHours: 7 * 24, maxBytes: -1 };

/** Makes what is not there yet: streams and buckets. Agents and hubs never do. */
export async function createFleet(jsm: JetStreamManager, size: FleetSize = DEFAULT_SIZE): Promise<void> {
  const common = { storage: StorageType.File, num_replicas: size.replicas };
  await jsm.streams.add({
    ...common,
    name: EVENTS.stream,
    subjects: [EVENTS.subjects],
    max_age: nanos(size.keepHours * HOUR_MS),
    max_bytes: size.maxBytes,
    discard: DiscardPolicy.Old,
    allow_direct: true,
  });
  await jsm.streams.add({
    ...common,
    name: SENDS.stream,
    subjects: [SENDS.subjects],
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(10 * 60_000),
    max_msgs_per_subject: 100,
    discard: DiscardPolicy.New,
    discard_new_per_subject: true,
  });
  const kvm = new Kvm(jsm.jetstream());
  const bucket = { replicas: size.replicas, storage: StorageType.File };
  await kvm.create(BUCKETS.macs, bucket);
  await kvm.create(BUCKETS.webhooks, bucket);
  await kvm.create(BUCKETS.lanes, bucket);
  await kvm.create(BUCKETS.outcomes, { ...bucket, ttl: 24 * HOUR_MS });
}

/** What one Mac needs besides: the consumer of its sends. */
export async function createMac(jsm: JetStreamManager, mac: string): Promise<void> {
  await jsm.consumers.add(SENDS.stream, {
    durable_name: sendConsumer(mac),
    filter_subject: sendSubject(mac),
    ack_policy: AckPolicy.Explicit,
    // An agent that works says so every 10 s; one that died is noticed after this.
    ack_wait: nanos(25_000),
    max_ack_pending: 1,
  });
}

export async function removeMac(jsm: JetStreamManager, mac: string): Promise<void> {
  await jsm.consumers.delete(SENDS.stream, sendConsumer(mac));
}

import { DiscardPolicy, type JetStreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { nanos } from '@nats-io/nats-core';
import { HOUR_MS } from '../../../core/model/durations.ts';
import { DELIVERIES, EVENTS, eventsOf, MAX_EVENT_BYTES, STREAMS, unlessMissing } from '../protocol/subjects.ts';

const CLAIMS_MS = 24 * HOUR_MS;
const DELIVERIES_EACH = 100;

export interface FleetSize {
  /** Copies of each stream: 1 with one server, 3 with three. */
  readonly replicas: number;
  /** How long the stream keeps events. */
  readonly keepHours: number;
}

export const DEFAULT_SIZE: FleetSize = { replicas: 1, keepHours: 7 * 24 };

/**
 * Creates what the fleet lacks at the broker, and sets the limits of its events. Only the desk does this. The stream of
 * events has no `max_bytes`: with `discard: new`, nats-server 2.9.10 then drops events at the edge that it has
 * acknowledged.
 */
export async function createFleet(jsm: JetStreamManager, size: FleetSize = DEFAULT_SIZE): Promise<void> {
  const { replicas: num_replicas, keepHours } = size;
  const limits = { max_age: nanos(keepHours * HOUR_MS), max_msg_size: MAX_EVENT_BYTES };
  const stored = { storage: StorageType.File, num_replicas };
  const isThere = async (name: string): Promise<boolean> =>
    (await unlessMissing(() => jsm.streams.info(name))) !== undefined;
  if (await isThere(EVENTS)) await jsm.streams.update(EVENTS, limits);
  else {
    await jsm.streams.add({
      ...{ name: EVENTS, subjects: [eventsOf()], retention: RetentionPolicy.Limits, ...stored, ...limits },
      ...{ max_msgs_per_subject: 1, discard: DiscardPolicy.New, discard_new_per_subject: true },
      ...{ duplicate_window: nanos(120_000) },
    });
  }
  if (!(await isThere(DELIVERIES))) {
    const newest = { max_msgs_per_subject: DELIVERIES_EACH, discard: DiscardPolicy.Old };
    await jsm.streams.add({ name: DELIVERIES, subjects: ['wd.*'], ...stored, ...newest });
  }
  const kvm = new Kvm(jsm.jetstream());
  // A direct get may go to a server that has stopped: the leader answers.
  const bucket = { replicas: num_replicas, storage: StorageType.File, allow_direct: false };
  await kvm.create('webhooks', bucket);
  await kvm.create('claims', { ...bucket, ttl: CLAIMS_MS });
  // The broker answers a Mac at whatever subject it names: such an answer, sent on to a call of JetStream, may purge.
  const kept = { allow_rollup_hdrs: false, deny_delete: true, deny_purge: true };
  for (const name of STREAMS) await jsm.streams.update(name, kept);
}

import {
  AckPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { nanos } from '@nats-io/nats-core';
import { HOUR_MS } from '../../../core/model/durations.ts';
import { AppError } from '../../../core/model/errors.ts';
import { BUCKETS, claimKey, EVENTS, MAX_SENDS, SENDS, sendConsumer, sendSubject } from './layout.ts';
import { decodePair, encodePair, macOfPairKey, type Pair, pairKey } from './pair.ts';

/** Limits chosen when a fleet is set up. */
export interface FleetSize {
  /** Copies of each stream: 1 with one server, 3 with three. */
  readonly replicas: number;
  /** How long the stream keeps events. */
  readonly keepHours: number;
  /** Maximum number of bytes of events; -1 for no limit but the disk. */
  readonly maxBytes: number;
}

export const DEFAULT_SIZE: FleetSize = { replicas: 1, keepHours: 7 * 24, maxBytes: -1 };

/** Creates the fleet's missing streams and buckets. Only the operator's commands do this, never an agent or a hub. */
export async function createFleet(jsm: JetStreamManager, size: FleetSize = DEFAULT_SIZE): Promise<void> {
  const common = { storage: StorageType.File, num_replicas: size.replicas };
  await addMissing(jsm, {
    ...common,
    name: EVENTS.stream,
    subjects: [EVENTS.subjects],
    max_age: nanos(size.keepHours * HOUR_MS),
    max_bytes: size.maxBytes,
    discard: DiscardPolicy.Old,
    allow_direct: true,
  });
  await addMissing(jsm, {
    ...common,
    name: SENDS.stream,
    subjects: [SENDS.subjects],
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(10 * 60_000),
    max_msgs: MAX_SENDS,
    discard: DiscardPolicy.New,
  });
  const kvm = new Kvm(jsm.jetstream());
  const bucket = { replicas: size.replicas, storage: StorageType.File };
  await kvm.create(BUCKETS.macs, bucket);
  await kvm.create(BUCKETS.webhooks, bucket);
  await kvm.create(BUCKETS.outcomes, { ...bucket, ttl: 24 * HOUR_MS });
  // Forbids rollup headers. With such a header, an agent could empty the bucket by writing to its own key.
  for (const name of [BUCKETS.macs, BUCKETS.outcomes]) {
    await jsm.streams.update(`KV_${name}`, { allow_rollup_hdrs: false });
  }
}

/** Creates the consumer of a Mac's sends. Throws AppError `streams_missing` before `createFleet`. */
export async function createMac(jsm: JetStreamManager, mac: string): Promise<void> {
  const made = await unlessMissing(() =>
    jsm.consumers.add(SENDS.stream, {
      durable_name: sendConsumer(mac),
      filter_subject: sendSubject(mac),
      ack_policy: AckPolicy.Explicit,
      // An agent that works on a send extends this wait every 10 s. If it dies, the server offers the send again after
      // 25 s.
      ack_wait: nanos(25_000),
      max_ack_pending: 1,
    }),
  );
  if (made === undefined) throw new AppError('streams_missing', 'The servers have no streams yet.');
}

/**
 * Deletes a Mac's queue with the waiting sends, and its pair, claim and presence, so that hubs forget the Mac. Returns
 * false if the Mac had neither a queue nor a presence.
 */
export async function removeMac(jsm: JetStreamManager, mac: string): Promise<boolean> {
  const isQueueDeleted = await unlessMissing(() => jsm.consumers.delete(SENDS.stream, sendConsumer(mac)));
  await unlessMissing(() => jsm.streams.purge(SENDS.stream, { filter: sendSubject(mac) }));
  const hasBucket = (await unlessMissing(() => jsm.streams.info(`KV_${BUCKETS.macs}`))) !== undefined;
  if (!hasBucket) return isQueueDeleted === true;
  const macs = await new Kvm(jsm.jetstream()).open(BUCKETS.macs);
  const isPresent = (await macs.get(mac))?.operation === 'PUT';
  for await (const key of await macs.keys()) {
    const first = macOfPairKey(key);
    const pair = first === undefined ? null : decodePair(first, (await macs.get(key))?.value ?? new Uint8Array());
    if (pair?.mac === mac || pair?.standby === mac) await macs.delete(key);
  }
  await macs.delete(claimKey(mac));
  // Hubs watch this key, and forget the Mac once the key is deleted.
  if (isPresent) await macs.delete(mac);
  return isPresent || isQueueDeleted === true;
}

/** Announces a pair to the hubs. May be repeated. */
export async function writePair(jsm: JetStreamManager, pair: Pair): Promise<void> {
  const macs = await new Kvm(jsm.jetstream()).open(BUCKETS.macs);
  await macs.put(pairKey(pair.mac), encodePair(pair));
}

type Limits = { readonly [Name in 'keepHours' | 'maxBytes']?: number | undefined };

/** Changes the limits of the stream of events. Events beyond a limit are deleted. */
export async function keepEvents(jsm: JetStreamManager, limits: Limits): Promise<void> {
  const { keepHours, maxBytes } = limits;
  await jsm.streams.update(EVENTS.stream, {
    ...(keepHours !== undefined && { max_age: nanos(keepHours * HOUR_MS) }),
    ...(maxBytes !== undefined && { max_bytes: maxBytes }),
  });
}

/** Returns the answer of `ask`; undefined if the stream, consumer or message does not exist. */
export async function unlessMissing<Found>(ask: () => Promise<Found | null>): Promise<Found | undefined> {
  try {
    return (await ask()) ?? undefined;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.status === 404) return undefined;
    throw error;
  }
}

type NewStream = Parameters<JetStreamManager['streams']['add']>[0];

async function addMissing(jsm: JetStreamManager, stream: NewStream): Promise<void> {
  if ((await unlessMissing(() => jsm.streams.info(stream.name))) === undefined) await jsm.streams.add(stream);
}

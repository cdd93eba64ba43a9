import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type KV, Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { Leases } from '../../src/fleet/hub/webhooks/leases.ts';
import { SHARDS } from '../../src/fleet/hub/webhooks/shards.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Unanswered } from '../support/unanswered.ts';

const shards = Array.from({ length: SHARDS }, (_, shard) => shard);

describeWithNats('leases of webhooks', () => {
  let server: NatsServer;
  let nc: NatsConnection;
  let bucket: KV;
  const hubs: Hub[] = [];

  /** A hub with a time of its own: while it does not pass, the hub is as good as paused. */
  class Hub {
    readonly clock = new FakeClock();
    readonly working = new Set<number>();
    readonly released: number[] = [];
    readonly unanswered = new Unanswered();
    isCut = false;
    readonly leases = new Leases({
      bucket: () =>
        this.isCut ? Promise.reject(new Error('the broker is away')) : Promise.resolve(this.unanswered.in(bucket)),
      clock: this.clock,
      log: collectingLog(),
      onTaken: (shard) => void this.working.add(shard),
      onLost: (shard) => void this.working.delete(shard),
      release: async (shard) => {
        this.working.delete(shard);
        this.released.push(shard);
      },
    });

    constructor() {
      hubs.push(this);
      this.leases.start();
    }

    /** Lets time pass, once the broker has answered what was asked before. */
    async pass(ms: number): Promise<void> {
      await this.unanswered.settled();
      await this.clock.advance(ms);
    }
  }

  /** Lets time pass for these hubs in steps of a second until it is so. */
  async function until(passing: readonly Hub[], isSo: () => void): Promise<void> {
    await eventually(async () => {
      await Promise.all(passing.map((hub) => hub.pass(1000)));
      isSo();
    });
  }

  /** So much time and no more. */
  async function pass(hub: Hub, seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) await hub.pass(1000);
    await hub.unanswered.settled();
  }

  const sizes = (...some: Hub[]): number[] => some.map(({ working }) => working.size);
  const together = (...some: Hub[]): number[] =>
    some.flatMap(({ working }) => [...working]).sort((one, other) => one - other);

  beforeAll(async () => {
    server = await NatsServer.start();
    nc = await connect({ servers: server.url });
  });
  afterAll(async () => {
    await nc.close();
    await server.dispose();
  });
  beforeEach(async () => {
    bucket = await new Kvm(nc).create('lanes');
  });
  afterEach(async () => {
    await Promise.all(hubs.splice(0).map(({ leases }) => leases.close()));
    await bucket.destroy();
  });

  test('are divided evenly, and given up at once by a hub that stops', async () => {
    const [one, two] = [new Hub(), new Hub()];
    await until([one, two], () => expect(sizes(one, two)).toEqual([16, 16]));
    expect(together(one, two)).toEqual(shards);
    const three = new Hub();
    await until([one, two, three], () => expect([...sizes(one, two, three)].sort()).toEqual([10, 11, 11]));
    expect(together(one, two, three)).toEqual(shards);
    await three.leases.close();
    expect(three.working.size).toBe(0);
    let passed = 0;
    await until([one, two], () => {
      passed += 1;
      expect(sizes(one, two)).toEqual([16, 16]);
    });
    expect(passed).toBeLessThan(10);
    expect(together(one, two)).toEqual(shards);
  });

  test('of a hub that died go to the others after ten seconds, and not before', async () => {
    const [one, two] = [new Hub(), new Hub()];
    await until([one, two], () => expect(sizes(one, two)).toEqual([16, 16]));
    await pass(one, 6);
    expect(one.working.size).toBe(16);
    await until([one], () => expect(one.working.size).toBe(SHARDS));
    // It comes back, and knows before it does anything that nothing is its own.
    const first = [...two.working][0] ?? -1;
    expect(two.leases.isHeld(first)).toBe(true);
    two.clock.pause(11_000);
    expect(two.leases.isHeld(first)).toBe(false);
    await two.clock.advance(0);
    expect(two.working.size).toBe(0);
    await until([one, two], () => expect(sizes(one, two)).toEqual([16, 16]));
    expect(together(one, two)).toEqual(shards);
  });

  test('that cannot be renewed are left after seven seconds, and are the same hub’s again if nobody took them', async () => {
    const one = new Hub();
    await until([one], () => expect(one.working.size).toBe(SHARDS));
    one.isCut = true;
    await one.clock.advance(3000);
    expect(one.working.size).toBe(SHARDS);
    await one.clock.advance(4000);
    expect(one.working.size).toBe(0);
    expect(one.leases.isHeld(0)).toBe(false);
    const { id } = one.leases;
    one.isCut = false;
    await until([one], () => expect(one.working.size).toBe(SHARDS));
    expect(one.leases.id).toBe(id);
  });

  test('are not taken from a hub that the broker was away for as it was for the others', async () => {
    const [one, two] = [new Hub(), new Hub()];
    await until([one, two], () => expect(sizes(one, two)).toEqual([16, 16]));
    const ids = [one.leases.id, two.leases.id];
    for (const hub of [one, two]) hub.isCut = true;
    await until([one, two], () => expect(sizes(one, two)).toEqual([0, 0]));
    for (const hub of [one, two]) await hub.clock.advance(20_000);
    one.isCut = false;
    await pass(one, 4);
    await eventually(() => expect(one.working.size).toBe(16));
    await pass(one, 3);
    two.isCut = false;
    await until([one, two], () => expect(sizes(one, two)).toEqual([16, 16]));
    expect([one.leases.id, two.leases.id]).toEqual(ids);
  });

  test('are taken again when the broker has lost them', async () => {
    const [one, two] = [new Hub(), new Hub()];
    await until([one, two], () => expect(sizes(one, two)).toEqual([16, 16]));
    const before = [one.leases.id, two.leases.id];
    await bucket.destroy();
    bucket = await new Kvm(nc).create('lanes');
    await until([one, two], () => {
      expect([one.leases.id, two.leases.id].filter((id) => before.includes(id))).toEqual([]);
      expect(sizes(one, two)).toEqual([16, 16]);
    });
    expect(together(one, two)).toEqual(shards);
  });

  test('in doubt stop at once and are confirmed by the broker', async () => {
    const one = new Hub();
    await until([one], () => expect(one.working.size).toBe(SHARDS));
    one.leases.doubt(3);
    expect(one.working.has(3)).toBe(false);
    await until([one], () => expect(one.working.has(3)).toBe(true));
    // Another hub took it, as after an operator's mistake.
    const two = new Hub();
    await until([one, two], () => expect(sizes(one, two)).toEqual([16, 16]));
    const [shard = -1] = one.working;
    await bucket.put(`shard.${shard}`, JSON.stringify({ hub: two.leases.id }));
    one.leases.doubt(shard);
    await until([one], () => expect(one.leases.held).not.toContain(shard));
    expect(one.working.has(shard)).toBe(false);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type KV, Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { Lease, type LeaseRecord } from '../../src/features/fleet/protocol/lease.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Unanswered } from '../support/unanswered.ts';

describeWithNats('a lease', () => {
  let server: NatsServer;
  let nc: NatsConnection;
  let bucket: KV;
  const members: Member[] = [];

  /** A process with its own clock. While the clock stands still, the process behaves as if it were paused. */
  class Member {
    readonly clock = new FakeClock();
    readonly unanswered = new Unanswered();
    isCut = false;
    isReady = true;
    isWorking = false;
    count = 0;
    seen: number | undefined;
    /** Number of the broker's answers that were read, and what delays them on their way to the lease. */
    reads = 0;
    arriving: Promise<void> = Promise.resolve();
    readonly lease = new Lease<number>({
      bucket: () =>
        this.isCut ? Promise.reject(new Error('the broker is away')) : Promise.resolve(this.#delayed(bucket)),
      key: 'lease',
      encode: (record) => Buffer.from(JSON.stringify(record)),
      decode: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as LeaseRecord<number>,
      first: 0,
      isReady: () => this.isReady,
      state: () => this.count,
      onSeen: (state) => {
        this.seen = state;
      },
      onTaken: (state) => {
        this.isWorking = true;
        this.count = state;
      },
      onLost: () => {
        this.isWorking = false;
      },
      release: async () => {
        this.isWorking = false;
      },
      clock: this.clock,
      log: collectingLog(),
    });

    #delayed(from: KV): KV {
      const counted = this.unanswered.in(from);
      const read = async (key: string) => {
        const found = await counted.get(key);
        this.reads += 1;
        await this.arriving;
        return found;
      };
      return new Proxy(counted, {
        get: (target, name) => (name === 'get' ? read : (Reflect.get(target, name) as unknown)),
      });
    }

    constructor() {
      members.push(this);
      this.lease.start();
    }

    /** Advances the clock second by second, each time after the broker has answered. */
    async pass(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second += 1) {
        await this.unanswered.settled();
        await this.clock.advance(1000);
      }
      await this.unanswered.settled();
    }
  }

  const until = (passing: readonly Member[], assertions: () => void): Promise<void> =>
    eventually(async () => {
      await Promise.all(passing.map((member) => member.pass(1)));
      assertions();
    });

  /** Returns two members, of which the first delivers. */
  async function pair(): Promise<readonly [Member, Member]> {
    const [one, two] = [new Member(), new Member()];
    await until([one, two], () => expect(members.filter(({ isWorking }) => isWorking)).toHaveLength(1));
    return one.isWorking ? [one, two] : [two, one];
  }

  beforeAll(async () => {
    server = await NatsServer.start();
    nc = await connect({ servers: server.url });
  });
  afterAll(async () => {
    await nc.close();
    await server.dispose();
  });
  beforeEach(async () => {
    bucket = await new Kvm(nc).create('leases');
  });
  afterEach(async () => {
    for (const member of members) member.isCut = false;
    await Promise.all(members.splice(0).map(({ lease }) => lease.close()));
    await bucket.destroy();
  });

  test('of a member that died is taken after 5 to 9 seconds, with the state that it wrote last', async () => {
    const [one, two] = await pair();
    one.count = 7;
    await one.lease.flush();
    await two.pass(5);
    expect([two.isWorking, two.lease.isHeld]).toEqual([false, false]);
    await two.pass(4);
    expect([two.isWorking, two.lease.isHeld, two.count]).toEqual([true, true, 7]);
    expect(two.lease.fence).toBe(one.lease.fence + 1);
  });

  test('is known as of the time when a member asked, even if an earlier read is still running', async () => {
    const [one, two] = await pair();
    let arrive = (): void => {};
    two.arriving = new Promise((resolve) => {
      arrive = resolve;
    });
    const { reads } = two;
    const earlier = two.lease.look();
    await eventually(() => expect(two.reads).toBe(reads + 1));
    one.count = 7;
    await one.lease.flush();
    const later = two.lease.look();
    arrive();
    await later;
    expect(two.seen).toBe(7);
    await earlier;
  });

  test('is over for a member that slept, before it can do or write anything', async () => {
    const [one, two] = await pair();
    await until([two], () => expect(two.isWorking).toBe(true));
    two.count = 9;
    await two.lease.flush();
    one.clock.pause(10_000);
    one.count = 5;
    expect(one.lease.isHeld).toBe(false);
    await expect(one.lease.flush()).rejects.toThrow('another has the lease');
    expect(one.isWorking).toBe(false);
    expect(JSON.parse((await bucket.get('lease'))?.string() ?? '')).toMatchObject({ state: 9, fence: two.lease.fence });
    await Promise.all([one.pass(8), two.pass(8)]);
    expect([one.isWorking, two.isWorking]).toEqual([false, true]);
  });

  test('that cannot be renewed is over after five seconds, and is taken again if it is still free', async () => {
    const [one] = await pair();
    one.isCut = true;
    await one.pass(3);
    expect(one.isWorking).toBe(true);
    await one.pass(3);
    expect([one.isWorking, one.lease.isHeld]).toEqual([false, false]);
    one.isCut = false;
    await until([one], () => expect(one.isWorking).toBe(true));
  });

  test('stays with its holder when the broker was away for all members', async () => {
    const [one, two] = await pair();
    await one.lease.flush();
    await two.pass(1);
    one.isCut = true;
    two.isCut = true;
    await Promise.all([one.pass(20), two.pass(20)]);
    two.isCut = false;
    await two.pass(4);
    expect(two.isWorking).toBe(false);
    one.isCut = false;
    await until([one, two], () => expect(one.isWorking).toBe(true));
    expect(two.isWorking).toBe(false);
  });

  test('that the broker lost, or restored to an older state, is written again by its holder', async () => {
    const [one, two] = await pair();
    one.count = 3;
    await one.lease.flush();
    const older = (await bucket.get('lease'))?.value ?? new Uint8Array();
    one.count = 4;
    await one.lease.flush();
    await two.pass(1);
    await bucket.put('lease', older);
    await one.lease.flush();
    expect(JSON.parse((await bucket.get('lease'))?.string() ?? '')).toMatchObject({ state: 4 });
    await bucket.destroy();
    bucket = await new Kvm(nc).create('leases');
    await one.lease.flush();
    await Promise.all([one.pass(2), two.pass(2)]);
    expect([one.isWorking, two.isWorking]).toEqual([true, false]);
    expect(JSON.parse((await bucket.get('lease'))?.string() ?? '')).toMatchObject({ state: 4, fence: one.lease.fence });
  });

  test('that the broker and its holder lost is taken with the newest known state', async () => {
    const [one, two] = await pair();
    one.count = 3;
    await one.lease.flush();
    await two.pass(1);
    await bucket.destroy();
    bucket = await new Kvm(nc).create('leases');
    await until([two], () => expect(two.isWorking).toBe(true));
    expect([two.count, two.lease.fence]).toEqual([3, one.lease.fence + 1]);
  });

  test('is given up at once by a member that stops, or is not ready for three seconds', async () => {
    const [one, two] = await pair();
    one.isReady = false;
    await one.pass(2);
    expect(one.isWorking).toBe(true);
    await one.pass(2);
    await two.pass(2);
    expect([one.isWorking, two.isWorking]).toEqual([false, true]);
    await one.pass(10);
    one.isReady = true;
    await two.lease.close();
    await one.pass(2);
    expect([one.isWorking, two.isWorking]).toEqual([true, false]);
  });

  test('that no member can read is not taken', async () => {
    await bucket.put('lease', 'not the JSON of a lease');
    const one = new Member();
    await one.pass(10);
    expect(one.isWorking).toBe(false);
  });

  test('goes to one of many members that try to take it at the same time', async () => {
    const many = Array.from({ length: 5 }, () => new Member());
    await until(many, () => expect(many.some(({ isWorking }) => isWorking)).toBe(true));
    await Promise.all(many.map((member) => member.pass(3)));
    expect(many.filter(({ isWorking }) => isWorking)).toHaveLength(1);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import { clientOf } from './fleet-mac.ts';
import { HubFixture } from './hub-fixture.ts';
import { NatsServer } from './nats-server.ts';
import { quickClock } from './quick-clock.ts';
import { StandInAgent } from './stand-in-agent.ts';

/** A broker that can lose data, hubs, and the stand-in agents m1 and m2, which are new for each test. */
export class LossyFleet {
  server!: NatsServer;
  m1!: StandInAgent;
  m2!: StandInAgent;
  #connection: NatsConnection | undefined;
  readonly #clock = quickClock(10, () => this.#connection);
  readonly #closers: (() => unknown)[] = [];
  #tests = 0;

  /** Must be called in a `describe`. With `isFollowing`, each message of m1 and m2 names the sequence before it. */
  constructor({ isFollowing = false } = {}) {
    beforeAll(async () => {
      this.server = await NatsServer.forFleet(['m1', 'm2']);
      this.#connection = await clientOf(this.server);
    });
    afterAll(async () => {
      await this.#connection?.close();
      await this.server.dispose();
    });
    beforeEach(async () => {
      await this.server.purgeEvents();
      this.#tests += 1;
      this.m1 = await this.agentOf('m1');
      this.m2 = await this.agentOf('m2');
      if (isFollowing) for (const agent of [this.m1, this.m2]) agent.follow();
    });
    afterEach(async () => {
      for (const close of this.#closers.splice(0).reverse()) await close();
    });
  }

  /** Different for each test, because all tests share a server. */
  get epoch(): string {
    return `e${this.#tests}`;
  }

  async agentOf(mac: string, epoch = this.epoch): Promise<StandInAgent> {
    return this.closing(await StandInAgent.connect(this.server.url, mac, undefined, epoch));
  }

  async hubAt(url = this.server.url): Promise<HubFixture> {
    return this.closing(await HubFixture.start([url], {}, undefined, this.#clock), (hub) => hub.dispose());
  }

  /** Closes something after the test. */
  closing<Closed extends { close(): unknown }>(one: Closed, close = (some: Closed) => some.close()): Closed {
    this.#closers.push(() => close(one));
    return one;
  }
}

/** Returns the status and code of a hub's answer to the events after an offset. */
export async function codeAfter(hub: HubFixture, after: string): Promise<unknown> {
  const answer = await hub.get(`/events?after=${after}`);
  return [answer.status, ((await answer.json()) as { code?: string }).code];
}

import { join } from 'node:path';
import type { KV } from '@nats-io/kv';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import type { Sqlite } from '../../src/core/runtime/sqlite.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { webhookStore } from '../../src/core/state/webhooks-store.ts';
import { Dispatcher } from '../../src/core/webhooks/dispatcher.ts';
import { Poster } from '../../src/core/webhooks/poster.ts';
import { HubWebhooks } from '../../src/features/fleet/hub/webhooks/hub-webhooks.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { Envelope, hubKeys, newFleetKeyLine } from '../../src/features/fleet/protocol/envelope.ts';
import type { Bucket } from '../../src/features/fleet/protocol/layout.ts';
import { plainJson } from './event-json.ts';
import { eventually } from './eventually.ts';
import { FakeClock } from './fake-clock.ts';
import { Line } from './line.ts';
import { collectingLog } from './log.ts';
import { arrival, MemoryLog } from './memory-log.ts';
import { temporaryFolder } from './temporary.ts';
import { Unanswered } from './unanswered.ts';

const folder = temporaryFolder();
let hubs = 0;
export const FLEET_KEY = newFleetKeyLine();

class CountedConnection extends FleetConnection {
  readonly unanswered = new Unanswered();

  override async kv(name: Bucket): Promise<KV> {
    return this.unanswered.in(await this.unanswered.note(super.kv(name)));
  }
}

/** The webhooks of a hub with its own log, connection and clock. */
export class TestHub {
  readonly clock = new FakeClock();
  readonly messages = new MemoryLog();
  readonly channel = new Channel();
  readonly log = collectingLog();
  readonly feed = new Feed({ channel: this.channel, messages: this.messages, clock: systemClock, log: this.log });
  readonly line: Line;
  readonly connection: CountedConnection;
  readonly database: Sqlite;
  readonly webhooks: HubWebhooks;
  readonly #dispatchers: Dispatcher[] = [];
  isReady = true;

  private constructor(line: Line, name: string) {
    this.line = line;
    const { log, feed } = this;
    this.connection = new CountedConnection(
      { servers: [line.url], keyFile: '', caFile: '' },
      { clock: systemClock, log, name, maxReconnectMs: 200 },
    );
    this.database = openStateDatabase(join(folder, `${name}.db`));
    this.webhooks = new HubWebhooks({
      connection: this.connection,
      envelope: new Envelope(hubKeys(FLEET_KEY)),
      store: webhookStore(this.database, systemClock),
      history: name,
      feed,
      isReady: () => this.isReady,
      reached: () => undefined,
      openDeliveries: (store, mayAttempt) => {
        const dispatcher = new Dispatcher({
          feed,
          rowNow: (rowId) => this.messages.rows.get(rowId),
          store,
          poster: new Poster({ version: '1', clock: systemClock, retryWaitsMs: [10, 10], mayAttempt }),
          clock: systemClock,
          log,
          json: plainJson(),
          ready: () => undefined,
        });
        this.#dispatchers.push(dispatcher);
        return dispatcher;
      },
      clock: this.clock,
      log,
    });
    this.webhooks.start();
  }

  static async start(port: number): Promise<TestHub> {
    hubs += 1;
    return new TestHub(await Line.to(port), `hub-${hubs}`);
  }

  /** Publishes the next rows at this hub. Tests publish the same rows at every hub. */
  publish(from: number, to: number): void {
    const rows = Array.from({ length: to - from + 1 }, (_, index) => arrival(from + index));
    this.messages.add(...rows);
    this.channel.publish(rows);
  }

  /** Advances the clock after the broker has answered all earlier requests. */
  async pass(ms: number): Promise<void> {
    await this.connection.unanswered.settled();
    await this.clock.advance(ms);
  }

  /** Ends like a killed process: nothing is sent, finished or released. */
  async kill(): Promise<void> {
    await Promise.all(this.#dispatchers.map((dispatcher) => dispatcher.close(0)));
    await this.line.close();
    await this.connection.close();
  }

  async close(): Promise<void> {
    await this.webhooks.close();
    await this.kill();
    this.database.close();
  }
}

/** Advances the clocks of these hubs until the assertion holds. */
export async function until(passing: readonly TestHub[], isSo: () => unknown): Promise<void> {
  await eventually(async () => {
    await Promise.all(passing.map((hub) => hub.pass(500)));
    await isSo();
  });
}

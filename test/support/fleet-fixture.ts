import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUser } from '@nats-io/nkeys';
import { PosternClient } from '../../src/client/postern-client.ts';
import { checkConfig } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { type RunningApp, startApp } from '../../src/core/service.ts';
import { startHub } from '../../src/features/fleet/hub/open.ts';
import { deriveMemberKey, newFleetKey } from '../../src/features/fleet/protocol/envelope.ts';
import { membershipLine } from '../../src/features/fleet/protocol/membership.ts';
import { FEATURES } from '../../src/features/list.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from './chat-fixture.ts';
import { waitFor } from './eventually.ts';
import { collectingLog } from './log.ts';
import type { NatsServer } from './nats-server.ts';
import { temporaryFolder } from './temporary.ts';

export const HUB_KEY = 'the-key-of-the-hub-in-tests';
export const MAC_KEY = 'the-key-of-a-mac-in-tests';

export interface HubEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly offset: string;
}

/** The keys of a fleet, with its Macs and hubs in this process, around a real nats-server. */
export class Fleet {
  readonly server: NatsServer;
  readonly key = newFleetKey();
  readonly #folder = temporaryFolder();
  readonly #seeds = new Map<string, string>();
  readonly #running: { stop(): Promise<void> }[] = [];
  #made = 0;

  constructor(server: NatsServer) {
    this.server = server;
  }

  /** Returns the seed of a Mac, which its machines share, or of the hubs. */
  seedOf(member = ''): string {
    const seed = this.#seeds.get(member) ?? new TextDecoder().decode(createUser().getSeed());
    this.#seeds.set(member, seed);
    return seed;
  }

  /** Returns the path of a file with the line of a Mac, or of the hubs. */
  file(member: string | undefined, fleetKeys: readonly string[] = [this.key]): string {
    const seed = this.seedOf(member);
    const keys = fleetKeys.map((key) => (member === undefined ? key : deriveMemberKey(key, member)));
    const line = membershipLine({ member, servers: [this.server.url], seed, ca: undefined, keys });
    const path = join(this.#newFolder(), 'fleet.line');
    writeFileSync(path, line, { mode: 0o600 });
    return path;
  }

  async mac(member: string, machine = `${member}-a`, settings: object = {}): Promise<Mac> {
    const mac = new Mac(this.#newFolder(), { file: this.file(member), machine, ...settings });
    this.#running.push(mac);
    await mac.start();
    return mac;
  }

  async hub(keys = [this.key]): Promise<Hub> {
    const hub = new Hub(this.#newFolder(), { file: this.file(undefined, keys) });
    this.#running.push(hub);
    await hub.start();
    return hub;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((one) => one.stop()));
  }

  #newFolder(): string {
    this.#made += 1;
    const folder = join(this.#folder, String(this.#made));
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  }
}

abstract class Served {
  readonly log = collectingLog();
  readonly folder: string;
  readonly fleet: Readonly<Record<string, unknown>>;
  readonly key: string;
  app: RunningApp | undefined;

  constructor(folder: string, fleet: Readonly<Record<string, unknown>>, key: string) {
    this.folder = folder;
    this.fleet = fleet;
    this.key = key;
  }

  get url(): string {
    return this.app?.url ?? '';
  }

  get client(): PosternClient {
    return new PosternClient({ url: this.url, key: this.key });
  }

  async stop(): Promise<void> {
    await this.app?.close();
    this.app = undefined;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers: { 'x-api-key': this.key, ...headers }, redirect: 'manual' });
  }

  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': this.key, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  protected async run(start: typeof startApp, tables: object): Promise<void> {
    const all = {
      server: { port: 0n, rate_limit_per_minute: 1_000_000n },
      auth: { api_key: this.key },
      fleet: this.fleet,
      ...tables,
    };
    const checked = checkConfig(all, this.folder, processEnvironment({ HOME: this.folder }, 'linux', FEATURES));
    if ('mistakes' in checked) throw new Error(checked.mistakes.join(' '));
    this.app = await start(checked.config, {
      clock: systemClock,
      log: this.log,
      supervised: false,
      version: '1.2.3',
      features: FEATURES,
      platform: 'simulated',
      homeFolder: this.folder,
      cacheFolder: join(this.folder, 'cache'),
      run: () => Promise.reject(new Error('not used')),
      restart: () => {},
    });
  }
}

/** A whole service on a real chat.db, as a machine of a Mac of the fleet. */
export class Mac extends Served {
  readonly database: ChatFixture;
  osascriptPath = '/usr/bin/false';
  readonly #chatDbPath: string;

  constructor(folder: string, fleet: Readonly<Record<string, unknown>>) {
    super(folder, fleet, MAC_KEY);
    this.#chatDbPath = join(folder, 'chat.db');
    this.database = new ChatFixture(this.#chatDbPath);
    this.database.chat('any;-;+15550100', ['+15550100']);
  }

  start(): Promise<void> {
    const backend = { chat_db_path: this.#chatDbPath, osascript_path: this.osascriptPath, poll_interval_ms: 20n };
    return this.run(startApp, { backend });
  }

  /** Writes a message with the current time and returns its row id. */
  write(text: string, guid?: string): number {
    const date = appleDate(Date.now());
    return this.database.message({ chat: 1, handle_id: 1, text, date, ...(guid !== undefined && { guid }) });
  }

  /** Creates the folder of attachments beside chat.db and returns its path. */
  attachments(): string {
    const folder = join(this.folder, 'Attachments');
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Returns how many rows the fleet does not have yet. */
  async behind(): Promise<unknown> {
    const status = (await (await this.get('/api/v1/status')).json()) as { fleet: { behind: number } };
    return status.fleet.behind;
  }
}

export class Hub extends Served {
  constructor(folder: string, fleet: Readonly<Record<string, unknown>>) {
    super(folder, fleet, HUB_KEY);
  }

  async start(): Promise<void> {
    await this.run(startHub, {});
    await waitFor(async () => (await fetch(`${this.url}/ready`)).status === 200);
  }

  /** Returns one page of events; throws the problem of any other answer. */
  async events(query: string): Promise<{ readonly events: readonly HubEvent[]; readonly next: string }> {
    const answer = await this.get(`/api/v1/events?${query}`);
    const body = (await answer.json()) as HubEvent[];
    if (answer.status !== 200) throw Object.assign(new Error(JSON.stringify(body)), { status: answer.status, body });
    const next = /after=([\w-]+)/.exec(answer.headers.get('link') ?? '')?.[1] ?? '';
    return { events: body, next };
  }

  /** Waits until `count` events after the offset can be read, and returns their texts. */
  async texts(count: number, query = 'after=0'): Promise<readonly unknown[]> {
    return waitFor(async () => {
      const { events } = await this.events(`${query}&limit=1000`);
      return events.length >= count && events.map(({ data }) => data.body);
    });
  }
}

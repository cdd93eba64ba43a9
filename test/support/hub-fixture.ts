import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PosternClient } from '../../src/client/postern-client.ts';
import { checkConfig } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { startHub } from '../../src/features/fleet/open-hub.ts';
import { FEATURES } from '../../src/features/list.ts';
import { waitFor } from './eventually.ts';
import { collectingLog } from './log.ts';
import { KEY } from './service.ts';
import { whenFileEnds } from './temporary.ts';

/** A real hub in this process; `start` in the same folder restarts it. */
export class HubFixture {
  readonly folder: string;
  readonly log = collectingLog();
  readonly #fleet: Readonly<Record<string, unknown>>;
  readonly #clock: Clock;
  #app: Awaited<ReturnType<typeof startHub>> | undefined;

  private constructor(
    servers: readonly string[],
    fleet: Readonly<Record<string, unknown>>,
    folder: string,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#fleet = { servers, ...fleet };
    this.folder = folder;
  }

  /** Starts a hub. `fleet` contains further settings of the section [fleet]. Resolves once the hub is connected. */
  static async start(
    servers: readonly string[],
    fleet: Readonly<Record<string, unknown>> = {},
    folder = mkdtempSync(join(tmpdir(), 'postern-hub-')),
    clock = systemClock,
  ): Promise<HubFixture> {
    const hub = await HubFixture.launch(servers, fleet, folder, clock);
    await hub.connected();
    return hub;
  }

  /** Starts a hub without waiting until it is connected, for hubs that cannot serve. */
  static async launch(
    servers: readonly string[],
    fleet: Readonly<Record<string, unknown>>,
    folder: string,
    clock: Clock,
  ): Promise<HubFixture> {
    const hub = new HubFixture(servers, fleet, folder, clock);
    whenFileEnds(() => hub.dispose());
    await hub.start();
    return hub;
  }

  get url(): string {
    return this.#app?.url ?? '';
  }

  get api(): string {
    return `${this.url}/api/v1`;
  }

  get client(): PosternClient {
    return new PosternClient({ url: this.url, key: KEY });
  }

  get databasePath(): string {
    return join(this.folder, 'hub.db');
  }

  async start(): Promise<void> {
    const tables = {
      server: { port: 0n, rate_limit_per_minute: 100_000n },
      auth: { api_key: KEY },
      fleet: this.#fleet,
    };
    const checked = checkConfig(tables, this.folder, processEnvironment({ HOME: '/h' }, 'linux', FEATURES));
    if ('mistakes' in checked) throw new Error(checked.mistakes.join('\n'));
    this.#app = await startHub(checked.config, {
      features: FEATURES,
      clock: this.#clock,
      log: this.log,
      supervised: false,
      version: '0.0.0',
      platform: 'linux',
      homeFolder: this.folder,
      cacheFolder: this.folder,
      run: () => Promise.reject(new Error('not used')),
      restart: () => undefined,
    });
  }

  async connected(): Promise<void> {
    await waitFor(async () => (await this.client.health()).backend.connected);
  }

  /** Returns the status and body of /ready, which balancers read without a key. */
  async ready(): Promise<readonly [number, unknown]> {
    const answer = await fetch(`${this.url}/ready`);
    return [answer.status, await answer.json()];
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.api}${path}`, { headers: { 'X-API-Key': KEY, ...headers } });
  }

  async close(): Promise<void> {
    await this.#app?.close();
    this.#app = undefined;
  }

  async dispose(): Promise<void> {
    await this.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

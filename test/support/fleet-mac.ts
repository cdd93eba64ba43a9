import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkConfig } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import type { Feature } from '../../src/core/feature.ts';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { type RunningApp, startApp } from '../../src/core/service.ts';
import { FEATURES } from '../../src/features/list.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from './chat-fixture.ts';
import { waitFor } from './eventually.ts';
import { collectingLog } from './log.ts';

export const KEY = 'a-key-for-all-the-tests';

const ENDED = { code: 0, stdout: '', stderr: '', trouble: null };

/** A whole service on a real chat.db, in this process, as an agent of a fleet. */
export class FleetMac {
  readonly log = collectingLog();
  readonly folder: string;
  readonly #osascriptPath: string;
  readonly chatDbPath: string;
  database: ChatFixture | undefined;
  /** Hardware id; by default that of the machine that runs the tests. */
  machine: string | undefined;
  features: readonly Feature[] = FEATURES;
  settings: Partial<Record<string, unknown>>;
  clock: Clock = systemClock;
  #app: RunningApp | undefined;

  constructor(
    folder: string,
    settings: Partial<Record<string, unknown>>,
    simulated?: { readonly chatDbPath: string; readonly osascriptPath: string },
  ) {
    this.folder = folder;
    this.settings = settings;
    this.#osascriptPath = simulated?.osascriptPath ?? '/usr/bin/false';
    this.chatDbPath = simulated?.chatDbPath ?? join(folder, 'chat.db');
    if (simulated === undefined) this.createDatabase();
  }

  /** Replaces chat.db by one that has one conversation and no messages. */
  createDatabase(): void {
    this.database?.remove();
    this.database = new ChatFixture(this.chatDbPath);
    this.database.chat('any;-;+15550100', ['+15550100']);
  }

  /** Writes a message, and returns its row id. */
  write(text: string, guid?: string, atMs = Date.now()): number {
    const date = appleDate(atMs);
    if (this.database === undefined) throw new Error('its database is not a fixture');
    return this.database.message({ chat: 1, handle_id: 1, text, date, ...(guid !== undefined && { guid }) });
  }

  async start(): Promise<void> {
    const dir = join(this.folder, 'config');
    if (!existsSync(dir)) mkdirSync(dir, { mode: 0o700, recursive: true });
    const tables = {
      server: { port: 0n, rate_limit_per_minute: 1_000_000n },
      auth: { api_key: KEY },
      backend: { chat_db_path: this.chatDbPath, osascript_path: this.#osascriptPath, poll_interval_ms: 20n },
      fleet: this.settings,
    };
    const checked = checkConfig(tables, dir, processEnvironment({ HOME: this.folder }, 'linux', FEATURES));
    if ('mistakes' in checked) throw new Error(checked.mistakes.join(' '));
    this.#app = await startApp(checked.config, {
      clock: this.clock,
      log: this.log,
      supervised: false,
      version: '1.2.3',
      features: this.features,
      platform: 'simulated',
      homeFolder: this.folder,
      cacheFolder: join(this.folder, 'cache'),
      run: (program) => {
        const isAsked = program === 'ioreg' && this.machine !== undefined;
        return Promise.resolve({ ...ENDED, stdout: isAsked ? `    "IOPlatformUUID" = "${this.machine}"\n` : '' });
      },
      restart: () => {},
    });
  }

  async stop(): Promise<void> {
    await this.#app?.close();
    this.#app = undefined;
  }

  async dispose(): Promise<void> {
    await this.stop();
    this.database?.close();
  }

  get url(): string {
    return this.#app?.url ?? '';
  }

  async get(path: string): Promise<unknown> {
    const answer = await fetch(`${this.#app?.url}/api/v1${path}`, { headers: { 'x-api-key': KEY } });
    return answer.json();
  }

  /** Returns the status and body of /ready, which balancers read without a key. */
  async ready(): Promise<readonly [number, unknown]> {
    const answer = await fetch(`${this.#app?.url}/ready`);
    return [answer.status, await answer.json()];
  }

  /** Waits until the status's `fleet` meets the condition, and returns it. */
  async fleet(fits: (fleet: Record<string, unknown>) => boolean = () => true): Promise<Record<string, unknown>> {
    return waitFor(async () => {
      const { fleet } = (await this.get('/status')) as { fleet: Record<string, unknown> };
      return fits(fleet) && fleet;
    });
  }

  /** Waits until the stream has acknowledged everything up to this row. */
  published(row: number): Promise<unknown> {
    return this.fleet(({ published_row: published }) => Number(published) >= row);
  }
}

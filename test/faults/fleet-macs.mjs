// Runs the services of several Macs in one process, which can be killed at any moment. Each Mac has its own chat.db.
// Argument: JSON { macs: [{ id, folder, chatDbPath }], servers }. Prints the addresses of their APIs as one line of
// JSON.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkConfig } from '../../dist/src/core/config/config.js';
import { processEnvironment } from '../../dist/src/core/config/environment.js';
import { systemClock } from '../../dist/src/core/runtime/clock.js';
import { startApp } from '../../dist/src/core/service.js';
import { FEATURES } from '../../dist/src/features/list.js';

const { macs, servers } = JSON.parse(process.argv[2]);
const silent = { debug() {}, info() {}, warn() {}, error: (...words) => console.error(...words), child: () => silent };

const urls = {};
for (const { id, folder, chatDbPath } of macs) {
  const dir = join(folder, 'config');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const tables = {
    server: { port: 0n, socket: false, rate_limit_per_minute: 1_000_000n },
    auth: { api_key: 'a-key-for-all-the-tests' },
    backend: { chat_db_path: chatDbPath, poll_interval_ms: 500n, osascript_path: join(folder, 'osascript') },
    fleet: { servers, mac: id },
  };
  const checked = checkConfig(tables, dir, processEnvironment({ HOME: folder }, 'linux', FEATURES));
  if ('mistakes' in checked) throw new Error(checked.mistakes.join(' '));
  const app = await startApp(checked.config, {
    clock: systemClock,
    log: silent,
    features: FEATURES,
    supervised: false,
    version: '0.0.0',
    platform: 'simulated',
    homeFolder: folder,
    cacheFolder: join(folder, 'cache'),
    run: () => Promise.reject(new Error('not used')),
    restart() {},
  });
  urls[id] = app.url;
}
console.log(JSON.stringify(urls));
process.stdin.on('end', () => process.exit(0)).resume(); // ends with the process that started it

import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { type ConfigReading, configPath, createConfig, readConfig } from '../config/file.ts';
import { demoFolder, type Surroundings } from '../config/surroundings.ts';
import type { Config } from '../config.ts';
import { type SimulatedMac, startSimulatedMac } from '../simulator/mac.ts';
import { type CommonOptions, type Context, quoted } from './command.ts';
import { refuseConfig, runService, withLog } from './service.ts';

export interface DemoOptions extends CommonOptions {
  readonly dir?: string;
  readonly port?: number;
}

/** Sooner than the documented second: the demo is there to be watched. */
const POLL_INTERVAL_MS = 250;

/** `postern demo`: a simulated Mac, and the real gateway in front of it. */
export function demo(options: DemoOptions, context: Context): Promise<number> {
  const { around } = context;
  const folder = options.dir === undefined ? demoFolder(options.configDir, around) : resolve(options.dir);
  return withLog(context, async (log) => {
    const found = prepare(folder, around);
    if (found.state === 'unusable') return refuseConfig(found, false, log, context);
    const mac = await startSimulatedMac({ dir: folder, macosVersion: '26', hasPeople: true });
    try {
      const reading = found.state === 'absent' ? createDemoConfig(folder, mac, around) : found;
      if (reading.state !== 'usable') return refuseConfig(reading, false, log, context);
      for (const warning of reading.warnings) log.warn(warning);
      const { server, backend } = reading.config;
      const config: Config = {
        ...reading.config,
        server: { ...server, port: options.port ?? server.port },
        // Whatever was edited or moved: the demo never touches a real Mac.
        backend: { ...backend, chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath },
      };
      return await runService(config, log, context, {
        supervised: false,
        platform: 'simulated',
        homeFolder: mac.homeFolder,
        onStart: (url) => context.say(...introduction(url, folder)),
      });
    } finally {
      await mac.stop();
    }
  });
}

/** Makes the folder and looks for an earlier demo's configuration in it. */
function prepare(folder: string, around: Surroundings): ConfigReading {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return readConfig(folder, around);
  } catch (error) {
    const mistakes = [`Its folder cannot be made (${(error as Error).message}).`];
    return { state: 'unusable', path: configPath(folder), mistakes, warnings: [] };
  }
}

/** Names the simulated Mac, so that every other command finds it there too. */
function createDemoConfig(folder: string, mac: SimulatedMac, around: Surroundings): ConfigReading {
  const values = new Map<string, string | number>([
    ['backend.chat_db_path', mac.chatDbPath],
    ['backend.osascript_path', mac.osascriptPath],
    ['backend.poll_interval_ms', POLL_INTERVAL_MS],
  ]);
  return createConfig(folder, around, values);
}

/** What to try. The key is read from its file by the shell, and so is in no line that we print. */
function introduction(url: string, folder: string): readonly string[] {
  const ws = dirname(createRequire(import.meta.url).resolve('ws'));
  const listen = `new (require(process.argv[1]))(process.argv[2]).on("message", (frame) => console.log(String(frame)))`;
  return [
    '',
    `This is a simulation: a Mac made of cardboard in ${folder}. No real message is read or sent.`,
    'A few simulated people write to it, react, and answer what you send them.',
    '',
    'In another terminal:',
    `  KEY=$(sed -n 's/^api_key = "\\(.*\\)"/\\1/p' ${quoted(configPath(folder))})`,
    `  curl -H "X-API-Key: $KEY" '${url}/api/v1/messages?limit=3'`,
    '',
    'Events on a WebSocket (the first comes within seconds):',
    `  node -e '${listen}' ${quoted(ws)} "${url.replace(/^http/, 'ws')}/api/v1/ws?api_key=$KEY"`,
    '',
    'Send something, and the answer comes as an event:',
    `  curl -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d '{"recipient": "+15550100", "body": "Hello"}' ${url}/api/v1/messages`,
    '',
    'Ctrl+C ends it.',
    '',
  ];
}

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { HostContext } from '../../core/cli/client-context.ts';
import { type CommonOptions, type Context, EXIT } from '../../core/cli/context.ts';
import { programText } from '../../core/cli/invocation.ts';
import { refuseConfig, runService, withLog } from '../../core/cli/run-service.ts';
import type { Config } from '../../core/config/config.ts';
import { createConfig, readConfig } from '../../core/config/config-file.ts';
import { demoFolder } from '../../core/config/environment.ts';
import { socketOf } from '../../core/config/service-address.ts';
import { quoted } from '../../core/model/command-words.ts';
import { isLoopback } from '../../core/model/loopback.ts';
import { assertSqlite } from '../../core/runtime/sqlite.ts';
import { demoFeature } from './demo-feature.ts';
import { SimulatedMac } from './mac.ts';

export interface DemoOptions extends CommonOptions {
  readonly dir?: string;
  readonly port?: number;
  readonly host?: string;
  /** True if the simulated people write nothing unprompted after their story. They still answer. */
  readonly quiet?: boolean;
  /** Allows a --host that other machines can reach. */
  readonly allowNetwork?: boolean;
}

/** Shorter than the default of one second, because people watch the demo. */
const POLL_INTERVAL_MS = 250;

/** `postern demo`: runs a simulated Mac with the real gateway in front. */
export async function demo(options: DemoOptions, context: HostContext): Promise<number> {
  const { environment } = context;
  const { host, allowNetwork = false } = options;
  if (host !== undefined && !isLoopback(host) && !allowNetwork) {
    context.stderr(
      context.paintError('red', `The demo does not start, because other machines could reach it on ${host}.`),
      'To allow that, add --allow-network. Clients need the key of the demo, which then crosses the network unencrypted.',
      'The demo then accepts any Host header, so it is less protected against web pages (DNS rebinding). It contains none',
      'of your messages.',
    );
    return EXIT.usage;
  }
  assertSqlite();
  const folder = options.dir === undefined ? demoFolder(options.configDir, environment) : resolve(options.dir);
  const mac = new SimulatedMac({ dir: folder, hasPeople: true, isQuiet: options.quiet === true });
  return withLog(context, async (log) => {
    const found = readConfig(folder, environment);
    const reading = found.state === 'absent' ? createConfig(folder, environment, settingsOf(mac, options.port)) : found;
    if (reading.state !== 'usable') return refuseConfig(reading, false, log, context);
    if (found.state === 'usable' && !existsSync(mac.homeFolder)) {
      context.stderr(
        `Postern does not start: ${found.path} is not the configuration of a demo.`,
        '  Give the demo its own folder: postern demo --dir DIR',
      );
      return EXIT.config;
    }
    for (const warning of reading.warnings) log.warn(warning);
    const { server, backend } = reading.config;
    const config: Config = {
      ...reading.config,
      server: { ...server, port: options.port ?? server.port, host: host ?? server.host },
      // Overrides the paths even if the user edited them, so that the demo never touches the real Messages.
      backend: { ...backend, chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath },
    };
    try {
      return await runService(config, log, context, {
        supervised: false,
        platform: 'simulated',
        homeFolder: mac.homeFolder,
        more: [demoFeature(mac)],
        // Starts the simulated Mac only once this process has the lock. A second demo in the same folder then cannot
        // disturb the first.
        onLocked: () => mac.start(),
        commandOptions: folderArguments(config, options, context).trim(),
        onStart: (url) => context.stdout(...introduction(url, config, options, context)),
      });
    } finally {
      await mac.stop();
    }
  });
}

/** Returns the settings for the demo's config.toml. Other commands read them there and so use the simulated Mac too. */
function settingsOf(mac: SimulatedMac, port: number | undefined): ReadonlyMap<string, string | number | boolean> {
  return new Map<string, string | number | boolean>([
    ...(port === undefined ? [] : [['server.port', port] as const]),
    ['backend.chat_db_path', mac.chatDbPath],
    ['backend.osascript_path', mac.osascriptPath],
    ['backend.poll_interval_ms', POLL_INTERVAL_MS],
    ['search.enabled', true],
  ]);
}

/** Returns the lines that the demo prints at its start, with suggestions of what to try. No line contains the key. */
function introduction(url: string, config: Config, options: DemoOptions, context: HostContext): readonly string[] {
  const folderText = folderArguments(config, options, context);
  // Without a Unix socket, other commands need the URL.
  const where = 'path' in socketOf(config) ? folderText : `${folderText} --url ${url}`;
  const program = programText(context);
  return [
    '',
    `This is a simulated Mac in ${config.dir}. No real message is read or sent.`,
    'A few simulated people have a history, act out a story of two minutes, and answer what you send them.',
    '',
    'In another terminal, watch the events (the first arrives within seconds):',
    `  ${program} tail ${where}`,
    '',
    'In a third terminal, over plain HTTP:',
    `  KEY=$(${program} config key ${folderText})`,
    `  curl -H "X-API-Key: $KEY" '${url}/api/v1/messages?limit=3'`,
    '',
    'Send a message; the reply arrives as an event:',
    `  curl -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d '{"recipient": "+15550100", "body": "Hello"}' ${url}/api/v1/messages`,
    '',
    'Let one of the people write to you:',
    `  ${program} demo say +15550100 'Is anybody there?'${folderText === '--demo' ? '' : ` ${folderText}`}`,
    '',
    'Open the console in a browser, signed in. There, "Speak as …" lets you write as one of the people, too:',
    `  ${program} open ${where}`,
    '',
    `The API reference, with Try it out: ${url}/docs`,
    '',
    'Stop with Ctrl+C.',
    '',
  ];
}

/** Returns the options with which another command finds this demo's configuration. */
function folderArguments({ dir: folder }: Config, { dir, configDir }: DemoOptions, { environment }: Context): string {
  const isUsual = (dir ?? configDir ?? environment.env.POSTERN_CONFIG_DIR) === undefined;
  return isUsual ? '--demo' : `--config-dir ${quoted(folder)}`;
}

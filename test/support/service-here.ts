import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import type * as invocations from '../../src/core/cli/invocation.ts';
import { packageVersion } from '../../src/core/cli/version.ts';
import type * as configFile from '../../src/core/config/config-file.ts';
import type * as environments from '../../src/core/config/environment.ts';
import type * as clocks from '../../src/core/runtime/clock.ts';
import type * as commands from '../../src/core/runtime/command.ts';
import type * as logs from '../../src/core/runtime/log.ts';
import type * as service from '../../src/core/service.ts';
import type * as list from '../../src/features/list.ts';
import { PLAIN } from './plain-context.ts';
import type { Serving } from './service-process.ts';
import { BARE_ENVIRONMENT } from './temporary.ts';

/** Loads a module of the build, because that starts the reader thread as the program does. */
function built<Module>(path: string): Promise<Module> {
  return import(new URL(`../../dist/src/${path}.js`, import.meta.url).href) as Promise<Module>;
}

/** Starts the service of this folder in this process, with its log in a file. Resolves once it listens. */
export async function serveHere(homeFolder: string, configFolder: string): Promise<Serving & { url: string }> {
  const { startApp } = await built<typeof service>('core/service');
  const { readConfig } = await built<typeof configFile>('core/config/config-file');
  const { processEnvironment } = await built<typeof environments>('core/config/environment');
  const { FEATURES } = await built<typeof list>('features/list');
  const { openLog } = await built<typeof logs>('core/runtime/log');
  const { commandRunner } = await built<typeof commands>('core/runtime/command');
  const { systemClock: clock } = await built<typeof clocks>('core/runtime/clock');
  const { folderOptions, invocationOf, programText } = await built<typeof invocations>('core/cli/invocation');
  const environment = { ...processEnvironment({ ...BARE_ENVIRONMENT, HOME: homeFolder }), features: FEATURES };
  const reading = readConfig(configFolder, environment);
  if (reading.state !== 'usable') throw new Error(JSON.stringify(reading));
  // The program that answers say a person or a client starts.
  process.argv[1] = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
  const context = {
    ...{ ...PLAIN, environment, features: FEATURES, version: packageVersion(), isTerminal: false },
    ...{ stdout: () => {}, stderr: () => {} },
  };
  const logPath = join(homeFolder, 'service.log');
  const fd = openSync(logPath, 'w');
  const log = await openLog({ level: 'info', isTerminal: false, fd });
  const app = await startApp(reading.config, {
    clock,
    log,
    supervised: false,
    version: context.version,
    features: FEATURES,
    platform: environment.platform,
    homeFolder,
    cacheFolder: join(homeFolder, 'cache'),
    run: commandRunner(environment.env),
    cli: { program: programText(context), options: folderOptions(configFolder, context) },
    invocation: (command) => invocationOf(command, { configDir: configFolder }, context),
    restart() {
      throw new Error('a service in this process cannot start again');
    },
  });
  // The service makes V8 of the whole process prefer little memory over speed.
  setFlagsFromString('--no-optimize-for-size');
  setFlagsFromString('--parallel-scavenge');
  let isRunning = true;
  return {
    url: app.url,
    pid: process.pid,
    get output() {
      return readFileSync(logPath, 'utf8');
    },
    async stop(signal) {
      if (signal === 'SIGKILL') throw new Error('a service in this process cannot be killed');
      if (!isRunning) return 0;
      isRunning = false;
      await app.close();
      await log.drained();
      closeSync(fd);
      return 0;
    },
  };
}

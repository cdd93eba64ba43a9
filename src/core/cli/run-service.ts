import { join } from 'node:path';
import { isPosternError, PosternClient } from '../../client/postern-client.ts';
import type { Config } from '../config/config.ts';
import { type ConfigReading, configPath, protectConfig } from '../config/config-file.ts';
import { cacheFolder, demoFolder, logLevel } from '../config/environment.ts';
import { urlOf } from '../config/service-address.ts';
import type { Feature } from '../feature.ts';
import { quoted } from '../model/command-words.ts';
import { errorCode, isAppError } from '../model/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { commandRunner } from '../runtime/command.ts';
import { openLog, type ProcessLog } from '../runtime/log.ts';
import { Shutdown } from '../runtime/shutdown.ts';
import { assertSqlite, sqliteLibrary } from '../runtime/sqlite.ts';
import type { RunningApp, startApp } from '../service.ts';
import type { HostContext } from './client-context.ts';
import { type Context, EXIT } from './context.ts';
import { isDemoRunning } from './demo-running.ts';
import { copyable, folderOptions, invocationOf, programText } from './invocation.ts';
import { printable } from './output/text.ts';

export interface ServiceOptions {
  readonly supervised: boolean;
  readonly platform: string;
  readonly homeFolder: string;
  /** Features of this run alone, besides those of the program. */
  readonly more?: readonly Feature[];
  /** Called once this process has locked the configuration folder. */
  readonly onLocked?: () => Promise<void>;
  /** Called once the service answers. */
  readonly onStart?: (url: string) => void;
  /** The options with which commands select this service; default: its folder, unless that is the usual one. */
  readonly commandOptions?: string;
  /** Starts the service; default: the gateway of this Mac. */
  readonly start?: typeof startApp;
}

/** Runs `work` with the log of a serving process, and waits until the log is written. */
export async function withLog(
  { environment, isTerminal }: Context,
  work: (log: ProcessLog) => Promise<number>,
): Promise<number> {
  const { level, warnings } = logLevel(environment);
  const log = await openLog({ level, isTerminal });
  for (const warning of warnings) log.warn(warning);
  const exitCode = await work(log);
  await log.drained();
  return exitCode;
}

/** Runs the gateway until a stop is requested. Resolves with the exit code. */
export async function runService(
  config: Config,
  log: ProcessLog,
  context: HostContext,
  { supervised, platform, homeFolder, more = [], onLocked, onStart, start, commandOptions }: ServiceOptions,
): Promise<number> {
  assertSqlite();
  const ending = new Shutdown({ log, clock: systemClock, isTerminal: context.isTerminal, supervised });
  ending.watch();
  for (const warning of protectConfig(config.dir)) log.warn(warning);
  const run = start ?? (await import('../service.ts')).startApp;
  let app: RunningApp;
  try {
    app = await run(config, {
      clock: systemClock,
      log,
      supervised,
      version: context.version,
      features: [...context.features, ...more],
      platform,
      homeFolder,
      ...(onLocked && { onLocked }),
      cacheFolder: platform === 'simulated' ? join(config.dir, 'cache') : cacheFolder(context.environment),
      run: commandRunner(context.environment.env),
      cli: { program: programText(context), options: commandOptions ?? folderOptions(config.dir, context) },
      invocation: (command) => invocationOf(command, { configDir: config.dir }, context),
      restart: () => ending.want(EXIT.startAgain),
    });
  } catch (error) {
    const refusal = await startRefusal(error, config, platform, context);
    if (refusal === undefined) throw error;
    return refuse(refusal, supervised, log, context);
  }
  log.info('serving', {
    url: app.url,
    config: configPath(config.dir),
    version: context.version,
    sqlite: sqliteLibrary,
  });
  onStart?.(app.url);
  await ending.wanted;
  await app.close();
  log.info('stopped');
  return ending.exitCode;
}

/** Reports the configuration's mistakes (decision A4). Returns the exit code. */
export function refuseConfig(
  reading: Exclude<ConfigReading, { state: 'usable' }>,
  supervised: boolean,
  log: ProcessLog,
  context: HostContext,
): number {
  const { mistakes, warnings } =
    reading.state === 'absent' ? { mistakes: ['There is no such file.'], warnings: [] } : reading;
  for (const warning of warnings) log.warn(warning);
  const sentence = `Postern does not start: ${reading.path} cannot be used.`;
  return refuse({ exitCode: EXIT.config, sentence, details: mistakes }, supervised, log, context);
}

interface StartRefusal {
  readonly exitCode: number;
  readonly sentence: string;
  readonly details: readonly string[];
}

/**
 * Reports why the service does not start: on stderr, or only in the log if the process is supervised. Returns the exit
 * code. For an unusable configuration a supervised process returns 0, so that launchd does not restart it forever.
 */
function refuse(
  { exitCode, sentence, details }: StartRefusal,
  supervised: boolean,
  log: ProcessLog,
  { stderr, paintError }: Context,
): number {
  if (!supervised) {
    stderr(paintError('red', sentence), ...details.map((detail) => `  ${printable(detail)}`));
    return exitCode;
  }
  log.error(sentence, { details });
  return exitCode === EXIT.config ? EXIT.ok : exitCode;
}

function finderOf(port: number, { environment }: Context): string {
  return environment.platform === 'darwin' ? `lsof -nP -iTCP:${port} -sTCP:LISTEN` : `ss -ltnp 'sport = :${port}'`;
}

const ANSWER_LIMIT_MS = 5000;

/** Reports whether a Postern answers at `url`. Sends a false key: another program could read the real one. */
async function isPosternAt(url: string): Promise<boolean> {
  return new PosternClient({ url, key: 'none', timeoutMs: ANSWER_LIMIT_MS }).health().then(
    () => true,
    (error: unknown) => isPosternError(error) && error.code === 'unauthorized',
  );
}

/** Codes of a full or failing disk, and of a file or port that another program holds: a later start may succeed. */
const MAY_PASS = /^(SQLITE_(FULL|IOERR|BUSY|LOCKED)|ENOSPC|EDQUOT|EIO|EADDRINUSE|EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN)/;

/** Codes of a file that a disk or its rights keep this user from reading or writing. */
const UNUSABLE_FILE = /^(SQLITE_|(ENOSPC|EDQUOT|EFBIG|EIO|EROFS|EACCES|EPERM|EISDIR|ENOTDIR|ELOOP)$)/;

/** Returns the exit code, the sentence and the advice for a known failure to start; undefined for any other failure. */
async function startRefusal(
  error: unknown,
  config: Config,
  platform: string,
  context: HostContext,
): Promise<StartRefusal | undefined> {
  const { host, port } = config.server;
  const path = configPath(config.dir);
  if (isAppError(error) && error.code !== 'port_taken') {
    const { code, message, hint, cause } = error;
    const mayPass = code === 'already_running' || MAY_PASS.test(errorCode(cause) ?? '');
    const exitCode = mayPass ? EXIT.unavailable : EXIT.config;
    return {
      exitCode,
      sentence: `Postern does not start: ${message}`,
      details: hint === undefined ? [] : [copyable(hint, { configDir: config.dir }, context)],
    };
  }
  switch (errorCode(error)) {
    case 'port_taken':
    case 'EADDRINUSE':
      return takenPort(error, config, platform, context);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      // After a login the network may come up later than the service.
      return {
        exitCode: EXIT.unavailable,
        sentence: `Postern does not start: this machine has no address ${host}.`,
        details: [`Set another server.host in ${path}.`],
      };
    case 'EACCES':
      if ((error as { syscall?: unknown }).syscall !== 'listen') break;
      return {
        exitCode: EXIT.config,
        sentence: `Postern does not start: this user is not permitted to listen on port ${port}.`,
        details: [`Set a server.port above 1023 in ${path}.`],
      };
  }
  const code = errorCode(error) ?? '';
  if (!UNUSABLE_FILE.test(code)) return undefined;
  return {
    exitCode: MAY_PASS.test(code) ? EXIT.unavailable : EXIT.config,
    sentence: `Postern does not start: a file in ${config.dir} cannot be used: ${(error as Error).message}.`,
    details: ['Check the disk, and who owns that folder and its files.'],
  };
}

async function takenPort(
  error: unknown,
  config: Config,
  platform: string,
  context: HostContext,
): Promise<StartRefusal> {
  const { host, port } = config.server;
  const dir = config.dir === demoFolder(undefined, context.environment) ? '' : ` --dir ${quoted(config.dir)}`;
  const isPostern = await isPosternAt(urlOf(config.server));
  const who = isPostern
    ? ' by another Postern.'
    : `: ${isAppError(error) ? error.message : 'another program listens there.'}`;
  return {
    exitCode: EXIT.unavailable,
    sentence: `${host}:${port} is taken${who}`,
    details: [
      ...((await isDemoRunning(context))
        ? ['A demo is running on this machine. Stop it with Ctrl+C in its terminal.']
        : []),
      `To find it: ${finderOf(port, context)}`,
      platform === 'simulated'
        ? `Or choose another port: ${programText(context)} demo --port ${port + 1}${dir}`
        : `Or set another server.port in ${configPath(config.dir)}.`,
    ],
  };
}

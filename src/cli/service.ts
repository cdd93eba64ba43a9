import { configPath } from '../config/file.ts';
import { logLevel } from '../config/surroundings.ts';
import type { Config } from '../config.ts';
import { errorCode } from '../domain/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { openLog, type ProcessLog } from '../runtime/log.ts';
import { Ending } from '../runtime/process.ts';
import { type Context, EXIT } from './command.ts';

export interface ServiceOptions {
  readonly supervised: boolean;
  readonly platform: string;
  readonly homeFolder: string;
  /** Called once it answers. */
  readonly onStart?: (url: string) => void;
}

/** Gives `work` the log of a process that serves, and waits until all of it is written. */
export async function withLog(
  { around, isTerminal }: Context,
  work: (log: ProcessLog) => Promise<number>,
): Promise<number> {
  const { level, warnings } = logLevel(around);
  const log = await openLog({ level, isTerminal });
  for (const warning of warnings) log.warn(warning);
  const exitCode = await work(log);
  await log.drained();
  return exitCode;
}

/** Runs the gateway until it shall end; resolves with the exit code. */
export async function runService(
  config: Config,
  log: ProcessLog,
  context: Context,
  { supervised, platform, homeFolder, onStart }: ServiceOptions,
): Promise<number> {
  const ending = new Ending({ log, clock: systemClock, isTerminal: context.isTerminal });
  ending.watch();
  try {
    const { startApp } = await import('../app.ts');
    const app = await startApp(config, {
      clock: systemClock,
      log,
      supervised,
      version: context.version,
      platform,
      homeFolder,
      restart: () => ending.want(EXIT.startAgain),
    });
    log.info('serving', { url: app.url, config: configPath(config.dir), version: context.version });
    onStart?.(app.url);
    await ending.wanted;
    await app.close();
    log.info('stopped');
    return ending.exitCode;
  } catch (error) {
    const refusal = listenRefusal(error, config, platform);
    if (refusal === undefined) throw error;
    return refuse(refusal, supervised, log, context);
  }
}

/** Why the service does not start. */
export interface Refusal {
  readonly exitCode: number;
  readonly sentence: string;
  readonly mistakes?: readonly string[];
}

/** Tells the person, or under launchd the log, which alone is kept there (A3). Answers with the exit code. */
export function refuse(
  { exitCode, sentence, mistakes = [] }: Refusal,
  supervised: boolean,
  log: ProcessLog,
  { complain }: Context,
): number {
  if (!supervised) {
    complain(sentence, ...mistakes.map((mistake) => `  ${mistake}`));
    return exitCode;
  }
  log.error(sentence, mistakes.length > 0 ? { mistakes } : {});
  return exitCode === EXIT.config ? EXIT.ok : exitCode;
}

/** What a person can do when the address cannot be had; undefined for any other failure. */
function listenRefusal(error: unknown, config: Config, platform: string): Refusal | undefined {
  const { host, port } = config.server;
  const path = configPath(config.dir);
  switch (errorCode(error)) {
    case 'EADDRINUSE': {
      const finder = platform === 'darwin' ? `lsof -nP -iTCP:${port} -sTCP:LISTEN` : `ss -ltnp 'sport = :${port}'`;
      const sentence = `${host}:${port} is taken: another program listens there. This finds it: ${finder}`;
      return { exitCode: EXIT.portTaken, sentence, mistakes: [`Or set another server.port in ${path}.`] };
    }
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        exitCode: EXIT.config,
        sentence: `server.host in ${path} is ${host}: this machine has no such address.`,
      };
    case 'EACCES':
      if ((error as { syscall?: unknown }).syscall !== 'listen') return undefined;
      return {
        exitCode: EXIT.config,
        sentence: `server.port in ${path} is ${port}: this user may not listen there. Above 1023 everybody may.`,
      };
    default:
      return undefined;
  }
}

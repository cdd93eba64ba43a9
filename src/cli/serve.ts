import { type ConfigReading, configPath, createConfig, readConfig } from '../config/file.ts';
import { configFolder } from '../config/surroundings.ts';
import { isAppError } from '../domain/errors.ts';
import type { ProcessLog } from '../runtime/log.ts';
import { type CommonOptions, type Context, EXIT } from './command.ts';
import { type Refusal, refuse, runService, withLog } from './service.ts';

export interface ServeOptions extends CommonOptions {
  /** launchd watches over this process (A3, C6). */
  readonly supervised?: boolean;
}

/** `postern serve`: the first launch writes the configuration and ends (A2), every later one serves. */
export function serve(options: ServeOptions, context: Context): Promise<number> {
  return withLog(context, async (log) => {
    const folder = configFolder(options.configDir, context.around);
    const reading = readConfig(folder, context.around);
    if (reading.state !== 'absent') return serveConfigured(reading, options, log, context);
    const refusal = firstLaunch(folder, context);
    if (refusal !== undefined) return refuse(refusal, options.supervised ?? false, log, context);
    context.say('Nothing is served yet: look it over, then start Postern again.');
    return EXIT.ok;
  });
}

/** Serves what the configuration says, or says what is wrong with it. */
export async function serveConfigured(
  reading: ConfigReading,
  { supervised = false }: ServeOptions,
  log: ProcessLog,
  context: Context,
): Promise<number> {
  if (reading.state === 'absent') throw new Error('There is no configuration.');
  for (const warning of reading.warnings) log.warn(warning);
  if (reading.state === 'unusable') {
    const sentence = `Postern does not start: ${reading.path} cannot be used.`;
    return refuse({ exitCode: EXIT.config, sentence, mistakes: reading.mistakes }, supervised, log, context);
  }
  const { platform, homeFolder } = context.around;
  return runService(reading.config, log, context, { supervised, platform, homeFolder });
}

/** Writes the configuration and says where it is; answers with what went wrong, if anything did. */
export function firstLaunch(folder: string, { around, say }: Context): Refusal | undefined {
  try {
    createConfig(folder, around);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { exitCode: EXIT.config, sentence: error.message };
  }
  say(
    'This is the first launch. The configuration, with a new API key in it, was written to',
    `  ${configPath(folder)}`,
    'Clients send that key in the header X-API-Key.',
  );
  return undefined;
}

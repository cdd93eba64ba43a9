import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Section } from './config.ts';
import { shown } from './shown-value.ts';

/** The inputs of the configuration besides config.toml. Only `processEnvironment` reads `process.env`. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  readonly homeFolder: string;
  /** The sections that features add to config.toml. */
  readonly features?: readonly Section[];
}

export function processEnvironment(
  env: Environment['env'] = process.env,
  platform: string = process.platform,
  features: readonly Section[] = [],
): Environment {
  return {
    env,
    platform,
    features,
    homeFolder: env.HOME !== undefined && isAbsolute(env.HOME) ? env.HOME : accountHome(),
  };
}

/** Returns the home folder from the account database. Used if HOME is missing or not an absolute path. */
function accountHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return homedir();
  }
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Returns the level in `POSTERN_LOG_LEVEL`; `info` if it is unset. An invalid level becomes `info` and a warning. */
export function logLevel({ env }: Environment): { readonly level: LogLevel; readonly warnings: readonly string[] } {
  const wish = env.POSTERN_LOG_LEVEL ?? '';
  const level = LOG_LEVELS.find((name) => name === wish.toLowerCase());
  if (level !== undefined || wish === '') return { level: level ?? 'info', warnings: [] };
  return {
    level: 'info',
    warnings: [`POSTERN_LOG_LEVEL is ${shown(wish)}; it must be one of ${LOG_LEVELS.join(', ')}. Using info.`],
  };
}

/**
 * Returns the configuration folder: `--config-dir`, else `POSTERN_CONFIG_DIR`, else the platform's default folder
 * (decision A1).
 */
export function configFolder(option: string | undefined, environment: Environment): string {
  const { env, platform, homeFolder } = environment;
  const wish = option || env.POSTERN_CONFIG_DIR;
  if (wish) return resolve(wish);
  if (platform === 'darwin') return join(homeFolder, 'Library/Application Support/Postern');
  const configHome = env.XDG_CONFIG_HOME ?? '';
  // The XDG Base Directory Specification says to ignore relative paths.
  return join(isAbsolute(configHome) ? configHome : join(homeFolder, '.config'), 'postern');
}

/** Returns the folder for data that can be recreated. */
export function cacheFolder({ env, platform, homeFolder }: Environment): string {
  if (platform === 'darwin') return join(homeFolder, 'Library/Caches/Postern');
  const cacheHome = env.XDG_CACHE_HOME ?? '';
  return join(isAbsolute(cacheHome) ? cacheHome : join(homeFolder, '.cache'), 'postern');
}

/** Returns the folder of the demo: `option`, else a folder beside the default configuration folder. */
export function demoFolder(option: string | undefined, environment: Environment): string {
  if (option !== undefined) return resolve(option);
  return join(
    dirname(configFolder(undefined, environment)),
    environment.platform === 'darwin' ? 'Postern Demo' : 'postern-demo',
  );
}

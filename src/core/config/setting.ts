import { isAbsolute } from 'node:path';
import type { Environment } from './environment.ts';

export const PATH = 'an absolute path (it may begin with ~ or $HOME)';

/**
 * One key of config.toml. `Value` is the type of the value that the program uses; the file may contain another type.
 */
export interface Setting<Value = unknown> {
  /** `section.key`, as in the file. */
  readonly name: string;
  /** Purpose of the setting, written as a comment into a new file. */
  readonly about: string;
  /** The allowed values: the end of a sentence that begins with "it must be". */
  readonly allowed: string;
  /** Returns the value to use if config.toml does not contain the key. Undefined makes the key mandatory. */
  readonly defaultValue: (environment: Environment) => unknown;
  /**
   * Converts the value that config.toml contains. For a setting that is a list, converts one item. An integer from the
   * file is a bigint. Returns undefined if the value is invalid.
   */
  readonly read: (written: unknown, environment: Environment) => Value | undefined;
  readonly isSecret?: boolean;
}

/** The settings of one section. Key: how the program calls the value. */
export type SettingTable = Readonly<Record<string, Setting>>;

/** The values of a section, as the program uses them. */
export type ValuesOf<Table extends SettingTable> = {
  readonly [Name in keyof Table]: Exclude<ReturnType<Table[Name]['read']>, undefined>;
};

/** Returns the values of a section without a configuration. */
export function usualValues(table: SettingTable, environment: Environment): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(table).map(([key, one]) => [key, one.read(one.defaultValue(environment), environment)]),
  );
}

export function integer(name: string, least: number, most: number, defaultValue: number, about: string) {
  return {
    name,
    about,
    allowed: `a whole number from ${least} to ${most}`,
    defaultValue: () => BigInt(defaultValue),
    read: (written) =>
      typeof written === 'bigint' && written >= least && written <= most ? Number(written) : undefined,
  } satisfies Setting<number>;
}

export function path(name: string, defaultValue: Setting['defaultValue'], about: string) {
  return { name, about, allowed: PATH, defaultValue, read: absolutePath } satisfies Setting<string>;
}

/** Defines a setting that is a path or empty. */
export function optionalPath(name: string, about: string) {
  return {
    name,
    about,
    allowed: `${PATH}, or empty`,
    defaultValue: () => '',
    read: (written, environment) => (written === '' ? '' : absolutePath(written, environment)),
  } satisfies Setting<string>;
}

/** Expands `~`, `$HOME` and `${HOME}` in a path. Returns undefined if the result is not an absolute path. */
export function absolutePath(written: unknown, { homeFolder }: Environment): string | undefined {
  if (typeof written !== 'string' || written.includes('\0')) return undefined;
  const path = written.replace(/^~(?=\/|$)/, () => homeFolder).replace(/\$(?:HOME(?!\w)|\{HOME\})/g, () => homeFolder);
  return isAbsolute(path) ? path : undefined;
}

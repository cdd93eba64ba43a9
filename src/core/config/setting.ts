import { isAbsolute } from 'node:path';
import type { Environment } from './environment.ts';

export const PATH = 'an absolute path (it may begin with ~ or $HOME)';

/**
 * One key of config.toml. `Value` is the type of the value that the program uses; the file may contain another type.
 */
export interface Setting<Value = unknown> {
  /** `section.key`, as in the file. */
  readonly name: string;
  /** The setting in a few words, for lists. */
  readonly title: string;
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
  /** Returns what is wrong with a valid value on this machine: the end of a sentence, after "but". */
  trouble?(value: Value): string | undefined;
  readonly isList?: true;
  readonly isSecret?: true;
  /** True for the settings of the contract, which a new config.toml sets. It contains all others as comments. */
  readonly isInNewFile?: true;
}

/** The settings of one section. Key: how the program calls the value. */
export type SettingTable = Readonly<Record<string, Setting>>;

/** The value of one setting, as the program uses it. */
type ValueOf<One extends Setting> = One extends { readonly isList: true }
  ? readonly Exclude<ReturnType<One['read']>, undefined>[]
  : Exclude<ReturnType<One['read']>, undefined>;

/** The values of a section, as the program uses them. */
export type ValuesOf<Table extends SettingTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

/** Returns the values of a section, each as `valueIn` gives it. */
export function valuesOf<Table extends SettingTable>(
  table: Table,
  valueIn: (setting: Setting) => unknown,
): ValuesOf<Table> {
  const values = Object.entries(table).map(([key, setting]) => [key, valueIn(setting)]);
  return Object.fromEntries(values) as ValuesOf<Table>;
}

/** Returns the values of a section without a configuration. */
export function usualValues<Table extends SettingTable>(table: Table, environment: Environment): ValuesOf<Table> {
  return valuesOf(table, (setting) => usualValue(setting, environment));
}

/** Returns the value of a setting without a configuration; undefined if it has no default. */
export function usualValue({ defaultValue, read, isList }: Setting, environment: Environment): unknown {
  const usual = defaultValue(environment);
  return isList === true ? usual : read(usual, environment);
}

/** The members that every setting has. */
type Said = Pick<Setting, 'name' | 'title' | 'about'>;

export function integer(said: Said, least: number, most: number, usual: number) {
  return {
    ...said,
    allowed: `a whole number from ${least} to ${most}`,
    defaultValue: () => BigInt(usual),
    read: (written) =>
      typeof written === 'bigint' && written >= least && written <= most ? Number(written) : undefined,
  } satisfies Setting<number>;
}

export function flag(said: Said, usual: boolean) {
  return {
    ...said,
    allowed: 'true or false',
    defaultValue: () => usual,
    read: (written) => (typeof written === 'boolean' ? written : undefined),
  } satisfies Setting<boolean>;
}

export function path(said: Said, defaultValue: Setting['defaultValue']) {
  return { ...said, allowed: PATH, defaultValue, read: absolutePath } satisfies Setting<string>;
}

/** Defines a setting that is a path or empty. */
export function optionalPath(said: Said) {
  return {
    ...said,
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

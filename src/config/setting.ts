import { isAbsolute } from 'node:path';
import type { Environment } from './environment.ts';

export const PATH = 'an absolute path (it may begin with ~ or $HOME)';

/** One key of config.toml. `Value` is what the program uses, which is not always what is written. */
export interface Setting<Value = unknown> {
  /** `section.key` as the file has it. */
  readonly name: string;
  /** What it is for, as the template's comment. */
  readonly about: string;
  /** Allowed values: the end of a sentence that begins with "it must be". */
  readonly allowed: string;
  /** What counts when it is not written; undefined: it must be written. */
  readonly defaultValue: (environment: Environment) => unknown;
  /**
   * What the written value, or one item of a list, means; undefined when it is not allowed. Integers are bigint.
   */
  readonly read: (written: unknown, environment: Environment) => Value | undefined;
  readonly isSecret?: boolean;
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

/** The path with `~`, `$HOME` and `${HOME}` expanded, undefined when it is not absolute then. */
export function absolutePath(written: unknown, { homeFolder }: Environment): string | undefined {
  if (typeof written !== 'string' || written.includes('\0')) return undefined;
  const path = written.replace(/^~(?=\/|$)/, () => homeFolder).replace(/\$(?:HOME(?!\w)|\{HOME\})/g, () => homeFolder);
  return isAbsolute(path) ? path : undefined;
}

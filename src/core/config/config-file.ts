import { randomUUID } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { quoted } from '../model/command-words.ts';
import { errorCode } from '../model/errors.ts';
import { publish, removeIfThere, sync, writeDraft } from '../runtime/whole-file.ts';
import { allSettings, type Config, checkConfig } from './config.ts';
import type { Environment } from './environment.ts';
import { parseToml } from './toml.ts';

/** Maximum size of config.toml: far larger than any real configuration, and small enough to parse at once. */
const MAX_BYTES = 1024 * 1024;

export type ConfigReading =
  | { readonly state: 'absent'; readonly path: string }
  | { readonly state: 'usable'; readonly path: string; readonly config: Config; readonly warnings: readonly string[] }
  | {
      readonly state: 'unusable';
      readonly path: string;
      /** Every mistake, one sentence each. No sentence quotes `auth.api_key`. */
      readonly mistakes: readonly string[];
      readonly warnings: readonly string[];
    };

export function configPath(folder: string): string {
  return join(folder, 'config.toml');
}

/** Reads and checks the configuration in `folder`. Mistakes are returned, never thrown. */
export function readConfig(folder: string, environment: Environment): ConfigReading {
  const path = configPath(folder);
  const text = readText(path);
  if (text === undefined) return { state: 'absent', path };
  if ('mistake' in text) return { state: 'unusable', path, mistakes: [text.mistake], warnings: [] };
  const checked = checkConfigText(text.text, folder, environment);
  const warnings = [...text.warnings, ...checked.warnings];
  return 'config' in checked
    ? { state: 'usable', path, config: checked.config, warnings }
    : { state: 'unusable', path, mistakes: checked.mistakes, warnings };
}

/** Checks `text` as the content of a config.toml in `folder`. Reads and writes no file. */
export function checkConfigText(
  text: string,
  folder: string,
  environment: Environment,
): ReturnType<typeof checkConfig> {
  const size = Buffer.byteLength(text);
  if (size > MAX_BYTES) return { mistakes: [tooLong(size)], warnings: [] };
  // TOML forbids a byte order mark, but editors on Windows write one.
  const parsed = parseToml(text.replace(/^\uFEFF/, ''));
  return 'syntaxError' in parsed
    ? { mistakes: [parsed.syntaxError], warnings: [] }
    : checkConfig(parsed.tables, folder, environment);
}

function tooLong(size: number): string {
  return `The file has ${size} bytes; a configuration may have at most ${MAX_BYTES}.`;
}

/** Returns the text of a file; undefined if it does not exist. */
function readText(path: string): { text: string; warnings: readonly string[] } | { mistake: string } | undefined {
  try {
    if (!exists(path)) return undefined;
    const file = statSync(path);
    const { size, mode } = file;
    // Reading a named pipe would wait until another program opens it for writing.
    if (!file.isFile()) return { mistake: 'This is not a regular file.' };
    if (size > MAX_BYTES) return { mistake: tooLong(size) };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
    const warnings =
      (mode & 0o077) === 0 ? [] : [`Other users can read ${path} and the key in it. Run: chmod 600 ${quoted(path)}`];
    return { text, warnings };
  } catch (error) {
    if (errorCode(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { mistake: 'This is not text in UTF-8.' };
    return { mistake: `It cannot be read (${(error as Error).message}).` };
  }
}

/**
 * Makes config.toml in `folder` readable by its owner only, if the file system supports that. Returns a warning if the
 * file's mode was changed, and another if other users can write to the folder. Never changes the folder's mode.
 */
export function protectConfig(folder: string): readonly string[] {
  const path = configPath(folder);
  const warnings: string[] = [];
  try {
    if ((statSync(path).mode & 0o077) !== 0) {
      chmodSync(path, 0o600);
      warnings.push(`${path} is now readable by its owner only (0600). Change the key if somebody may have read it.`);
    }
    if ((statSync(folder).mode & 0o022) !== 0) {
      warnings.push(
        `Other users of this machine can replace files in ${folder}, including the configuration. Run: chmod 700 ${quoted(folder)}`,
      );
    }
  } catch {
    // The file is another user's, or the file system has no modes. Reading the file has already produced the warning.
  }
  return warnings;
}

/**
 * Reports whether the path exists. True for a symbolic link without a target, because a config.toml that is such a link
 * must not count as a first launch.
 */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/**
 * Prepares a first launch (decisions A1, A2). Creates the folder (0700), and atomically creates a configuration with a
 * new key (0600). Returns the configuration, or `unusable` after a failure. Fails if the file already exists, and never
 * overwrites it.
 */
export function createConfig(
  folder: string,
  environment: Environment,
  values: ReadonlyMap<string, string | number | boolean> = new Map(),
): ConfigReading {
  const path = configPath(folder);
  const draft = `${path}.${randomUUID()}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      writeDraft(draft, configTemplate(new Map([['auth.api_key', randomUUID()], ...values]), environment));
      publish(draft, path);
    } finally {
      removeIfThere(draft);
    }
    sync(folder);
    return readConfig(folder, environment);
  } catch (error) {
    return { state: 'unusable', path, mistakes: [`It cannot be written (${(error as Error).message}).`], warnings: [] };
  }
}

/**
 * Returns the text of a new config.toml. Each setting has its description and a value: the value in `values`, or else
 * the default. The keys of `values` are setting names.
 */
function configTemplate(values: ReadonlyMap<string, string | number | boolean>, environment: Environment): string {
  const lines = ['# The configuration of Postern. Restart Postern after editing.'];
  let section = '';
  for (const setting of allSettings(environment)) {
    const [sectionName = '', key = ''] = setting.name.split('.');
    if (sectionName !== section) lines.push('', `[${sectionName}]`);
    section = sectionName;
    const value = values.get(setting.name) ?? setting.defaultValue(environment);
    const isActive = values.has(setting.name) || setting.isInNewFile === true;
    lines.push(`# ${setting.about}`, `${isActive ? '' : '# '}${key} = ${literal(value)}`);
  }
  return `${lines.join('\n')}\n`;
}

/**
 * Returns a TOML literal. JSON spells strings, numbers and lists as TOML does, except that JSON leaves the control
 * character U+007F unescaped.
 */
function literal(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value).replaceAll('\x7f', '\\u007f');
}

import { randomUUID } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { replaceFile } from '../runtime/whole-file.ts';
import { type Config, checkConfig } from './config.ts';
import { readConfig } from './config-file.ts';
import type { Environment } from './environment.ts';
import { parseToml } from './toml.ts';

/** Matches a line that sets `api_key` to a string in double or single quotes. */
const KEY_LINE =
  /^(?<before>[ \t]*(?:auth[ \t]*\.[ \t]*)?api_key[ \t]*=[ \t]*)(?:"(?:[^"\\]|\\.)*"|'[^']*')(?<after>[^\n]*)$/;

export type Rotation =
  | { readonly isDone: true; readonly path: string }
  | { readonly isDone: false; readonly path: string; readonly mistakes: readonly string[] };

/**
 * Atomically replaces `auth.api_key` in config.toml with a random key, and makes the file readable by its owner only.
 */
export function rotateOwnerKey(folder: string, environment: Environment): Rotation {
  const reading = readConfig(folder, environment);
  const { path } = reading;
  if (reading.state === 'absent') return { isDone: false, path, mistakes: ['There is no such file.'] };
  if (reading.state === 'unusable') return { isDone: false, path, mistakes: reading.mistakes };
  try {
    // If config.toml is a symbolic link, replaces its target and keeps the link.
    const file = realpathSync(path);
    const apiKey = randomUUID();
    // `readConfig` ignores a byte order mark, which TOML forbids. The new file has none.
    const written = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const text = withKey(written, apiKey, reading.config, environment);
    if (text === undefined) {
      return {
        isDone: false,
        path,
        mistakes: ['The line with api_key is written in a way that Postern cannot edit. Change the key by hand.'],
      };
    }
    replaceFile(file, text);
    return { isDone: true, path };
  } catch (error) {
    return { isDone: false, path, mistakes: [`It cannot be written (${(error as Error).message}).`] };
  }
}

/**
 * Returns `text` with `apiKey` as its key and every other setting unchanged; undefined if no line can be changed in
 * this way.
 */
function withKey(text: string, apiKey: string, config: Config, environment: Environment): string | undefined {
  const wanted = JSON.stringify({ ...config, auth: { apiKey } });
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    const { before, after } = KEY_LINE.exec(line)?.groups ?? {};
    if (before === undefined || after === undefined) continue;
    const changed = lines.with(index, `${before}"${apiKey}"${after}`).join('\n');
    const parsed = parseToml(changed);
    const checked = 'tables' in parsed ? checkConfig(parsed.tables, config.dir, environment) : undefined;
    // A matching line may also belong to another section or to a multi-line string. In that case changing the line does
    // not change the key, so the next matching line is tried.
    if (checked !== undefined && 'config' in checked && JSON.stringify(checked.config) === wanted) return changed;
  }
  return undefined;
}

import { randomUUID } from 'node:crypto';
import { readFileSync, realpathSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Config, checkConfig } from './config.ts';
import type { Environment } from './environment.ts';
import { readConfig, removeIfThere, syncFolder, writeDraft } from './file.ts';
import { parseToml } from './syntax.ts';

/** The value on a line of its own: a text in double or single quotes. What is around it stays. */
const KEY_LINE =
  /^(?<before>[ \t]*(?:auth[ \t]*\.[ \t]*)?api_key[ \t]*=[ \t]*)(?:"(?:[^"\\]|\\.)*"|'[^']*')(?<after>[^\n]*)$/;

export type Rotation =
  | { readonly isDone: true; readonly path: string }
  | { readonly isDone: false; readonly path: string; readonly mistakes: readonly string[] };

/** Puts a new key into config.toml: that one value, whole or not at all, and the file for its owner alone. */
export function rotateKey(folder: string, environment: Environment): Rotation {
  const reading = readConfig(folder, environment);
  const { path } = reading;
  if (reading.state === 'absent') return { isDone: false, path, mistakes: ['There is no such file.'] };
  if (reading.state === 'unusable') return { isDone: false, path, mistakes: reading.mistakes };
  try {
    // Where a link leads, not the link.
    const file = realpathSync(path);
    const apiKey = randomUUID();
    // TOML has no byte order mark; reading the configuration forgives one, and it is not written again.
    const written = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const text = withKey(written, apiKey, reading.config, environment);
    if (text === undefined) {
      return { isDone: false, path, mistakes: ['The line with api_key has an unusual form: change it by hand.'] };
    }
    replace(file, text);
    return { isDone: true, path };
  } catch (error) {
    return { isDone: false, path, mistakes: [`It cannot be written (${(error as Error).message}).`] };
  }
}

/** The text with another key and the same meaning otherwise; undefined when there is no line that gives it. */
function withKey(text: string, apiKey: string, config: Config, environment: Environment): string | undefined {
  const wanted = JSON.stringify({ ...config, auth: { apiKey } });
  const lines = text.split('\n');
  for (const [place, line] of lines.entries()) {
    const { before, after } = KEY_LINE.exec(line)?.groups ?? {};
    if (before === undefined || after === undefined) continue;
    const changed = lines.with(place, `${before}"${apiKey}"${after}`).join('\n');
    const parsed = parseToml(changed);
    const checked = 'tables' in parsed ? checkConfig(parsed.tables, config.dir, environment) : undefined;
    // The same words may be in another section, or inside a longer text.
    if (checked !== undefined && 'config' in checked && JSON.stringify(checked.config) === wanted) return changed;
  }
  return undefined;
}

function replace(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeDraft(draft, text);
    renameSync(draft, file);
  } finally {
    removeIfThere(draft);
  }
  syncFolder(dirname(file));
}

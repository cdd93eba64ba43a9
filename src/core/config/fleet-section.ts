import { readFileSync, realpathSync } from 'node:fs';
import { checkConfigText, configPath, replaceFile } from './config-file.ts';
import type { Environment } from './environment.ts';

/** Matches the whole line that begins with `[fleet]`; it may end with a comment. */
const SECTION = /^\[fleet\][^\n]*$/m;

/**
 * Writes `section`, which begins with the line `[fleet]`, into config.toml and keeps the rest of the file. A `[fleet]`
 * that is already in the file must be empty. Returns the mistakes that prevented the writing; empty after success.
 */
export function writeFleetSection(
  folder: string,
  section: readonly string[],
  environment: Environment,
): readonly string[] {
  try {
    // If config.toml is a symbolic link, replaces its target and keeps the link.
    const file = realpathSync(configPath(folder));
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const written = section.join('\n');
    const changed = SECTION.test(text) ? text.replace(SECTION, () => written) : `${text.trimEnd()}\n\n${written}\n`;
    const checked = checkConfigText(changed, folder, environment);
    if ('mistakes' in checked) return checked.mistakes;
    if (checked.config.fleet === undefined) {
      return ['Its section [fleet] is written in a way that Postern cannot edit.'];
    }
    replaceFile(file, changed);
    return [];
  } catch (error) {
    return [`It cannot be written (${(error as Error).message}).`];
  }
}

import { readFileSync, realpathSync } from 'node:fs';
import { checkConfigText, configPath, replaceFile } from './config-file.ts';
import type { Environment } from './environment.ts';

/** The line that begins the section, which may end with a comment. */
const SECTION = /^\[fleet\][^\n]*$/m;

/**
 * Writes `section`, which begins with the line `[fleet]`, into a config.toml without that section or with an empty one.
 * The text around it stays. If the result would contain mistakes, returns all of them and writes nothing.
 */
export function writeFleetSection(
  folder: string,
  section: readonly string[],
  environment: Environment,
): readonly string[] {
  try {
    // Writes to the target of a link, not over the link.
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

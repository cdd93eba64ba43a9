import { readFileSync, realpathSync } from 'node:fs';
import type { Environment } from './environment.ts';
import { checkConfigText, configPath, replaceFile } from './file.ts';

/** An empty section, as a new config.toml has one: a comment may follow the name. */
const SECTION = /^\[fleet\][^\n]*$/m;

/**
 * Writes the section `[fleet]`, whose first line is its name, into a config.toml that has none, or an empty one. The
 * text around it stays. Returns every mistake in the result, of which nothing was written then.
 */
export function writeFleetSection(
  folder: string,
  section: readonly string[],
  environment: Environment,
): readonly string[] {
  try {
    // The target of a link, not the link itself.
    const file = realpathSync(configPath(folder));
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const written = section.join('\n');
    const changed = SECTION.test(text) ? text.replace(SECTION, () => written) : `${text.trimEnd()}\n\n${written}\n`;
    const checked = checkConfigText(changed, folder, environment);
    if ('mistakes' in checked) return checked.mistakes;
    if (checked.config.fleet === undefined) return ['Its section [fleet] has an unusual form.'];
    replaceFile(file, changed);
    return [];
  } catch (error) {
    return [`It cannot be written (${(error as Error).message}).`];
  }
}

import { readFileSync, realpathSync } from 'node:fs';
import { checkConfigText, configPath, replaceFile } from './config-file.ts';
import type { Environment } from './environment.ts';

/** An empty section, as in a new config.toml: a comment may follow its name. */
const SECTION = /^\[fleet\][^\n]*$/m;

/**
 * Writes the section `[fleet]`, with its name as the first line, into a config.toml that has none or an empty one. The
 * text around it stays. Returns every mistake that the result would contain; nothing is written then.
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
    if (checked.config.fleet === undefined) return ['Its section [fleet] has an unusual form.'];
    replaceFile(file, changed);
    return [];
  } catch (error) {
    return [`It cannot be written (${(error as Error).message}).`];
  }
}

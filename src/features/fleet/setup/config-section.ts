import { readFileSync, realpathSync } from 'node:fs';
import { checkConfigText, configPath, replaceFile } from '../../../core/config/config-file.ts';
import type { Environment } from '../../../core/config/environment.ts';

const HEADER = /^\[fleet\][^\n]*/m;
const FILE = /^file[ \t]*=[^\n]*$/m;

/** Returns the section, up to the next one. */
function sectionIn(text: string): string | undefined {
  const start = HEADER.exec(text)?.index;
  if (start === undefined) return undefined;
  const end = text.indexOf('\n[', start);
  return text.slice(start, end === -1 ? undefined : end);
}

/**
 * Sets `fleet.file` in config.toml, and keeps the rest. Returns the mistakes that prevented it; empty after success.
 */
export function writeFleetFile(folder: string, file: string, environment: Environment): readonly string[] {
  try {
    // If config.toml is a symbolic link, replaces its target and keeps the link.
    const path = realpathSync(configPath(folder));
    const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
    const line = `file = ${JSON.stringify(file)}`;
    const section = sectionIn(text);
    const changed =
      section === undefined
        ? `${text.trimEnd()}\n\n[fleet]\n${line}\n`
        : text.replace(section, () =>
            FILE.test(section)
              ? section.replace(FILE, () => line)
              : section.replace('[fleet]', () => `[fleet]\n${line}`),
          );
    const checked = checkConfigText(changed, folder, environment);
    if ('mistakes' in checked) return checked.mistakes;
    if (checked.config.features.fleet?.file !== file) {
      return ['Its section [fleet] is written in a way that Postern cannot edit.'];
    }
    replaceFile(path, changed);
    return [];
  } catch (error) {
    return [`It cannot be written (${(error as Error).message}).`];
  }
}

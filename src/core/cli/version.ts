import { readFileSync } from 'node:fs';

/** Returns the version of the package that contains this file, compiled (one folder deeper) or not. */
export function packageVersion(): string {
  for (const up of ['../../../package.json', '../../../../package.json']) {
    try {
      const { version } = JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8')) as { version?: string };
      if (version !== undefined) return version;
    } catch {
      // Not in this folder.
    }
  }
  return '0.0.0';
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../src/core/runtime/project-folder.ts';

/** Returns what a user types to install Postern, or to install it again. Only a clone has a Makefile. */
export function installLine(option?: string, root = projectRoot()): string {
  if (!existsSync(join(root, 'Makefile'))) return ['postern install', option].filter(Boolean).join(' ');
  return `make install${option === undefined ? '' : ` ARGS=${option}`}`;
}

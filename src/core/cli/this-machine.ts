import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { Machine } from '../../../installer/machine.ts';
import type { Environment } from '../config/environment.ts';
import { systemClock } from '../runtime/clock.ts';
import { commandRunner } from '../runtime/command.ts';
import type { Context } from './context.ts';

/** Returns the real machine, for the installer and doctor. */
export function thisMachine({ environment, stdout, progress }: Context): Machine {
  return {
    platform: environment.platform,
    arch: process.arch,
    uid: process.getuid?.() ?? 0,
    home: environment.homeFolder,
    usersFolder: '/Users',
    temporaryFolder: tmpdir(),
    execPath: process.execPath,
    path: (environment.env.PATH ?? '').split(delimiter).filter(Boolean),
    prefixes: prefixesOf(environment),
    run: commandRunner(environment.env),
    clock: systemClock,
    stdout(line) {
      stdout(line);
      progress('Working');
    },
  };
}

/** Returns the usual folders for a user's programs on a Mac. POSTERN_PREFIX replaces them. */
function prefixesOf({ env, homeFolder }: Environment): readonly string[] {
  if (env.POSTERN_PREFIX) return [resolve(env.POSTERN_PREFIX)];
  return ['/opt/homebrew', '/usr/local', join(homeFolder, '.local')];
}

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../../installer/install.ts';
import type { Machine } from '../../installer/machine.ts';
import { readConfig } from '../config/file.ts';
import type { Surroundings } from '../config/surroundings.ts';
import { isAppError } from '../domain/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { commandRunner } from '../runtime/command.ts';
import { type Context, EXIT } from './command.ts';

/** The real machine, as the installer and doctor touch it. */
export function thisMachine({ around, say }: Context): Machine {
  return {
    platform: around.platform,
    arch: process.arch,
    uid: process.getuid?.() ?? 0,
    home: around.homeFolder,
    temporaryFolder: tmpdir(),
    execPath: process.execPath,
    path: (around.env.PATH ?? '').split(delimiter).filter(Boolean),
    run: commandRunner(around.env),
    clock: systemClock,
    say: (line) => say(line),
  };
}

/** The folder with package-lock.json that this file belongs to, compiled or not. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package-lock.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** The configuration as the installer wants to know it. */
export function settingsIn(configDir: string, around: Surroundings): Settings {
  const reading = readConfig(configDir, around);
  if (reading.state === 'absent') return { kind: 'none' };
  if (reading.state === 'unusable') return { kind: 'unusable', mistakes: reading.mistakes };
  return { kind: 'usable', config: reading.config, warnings: reading.warnings };
}

/** Runs `work`; a failure with a meaning becomes its sentence, what to do, and exit code 1. */
export async function told(work: Promise<void>, { complain }: Context): Promise<number> {
  try {
    await work;
    return EXIT.ok;
  } catch (error) {
    if (!isAppError(error)) throw error;
    complain(error.message, ...(error.hint === undefined ? [] : [error.hint]));
    return EXIT.crash;
  }
}

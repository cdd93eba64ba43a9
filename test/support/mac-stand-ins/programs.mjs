// The programs of macOS that an installation calls, each as it is known to behave at its worst; sources are named
// where they are used.
import { appendFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codesign } from './codesign.mjs';
import { launchctl } from './launchctl.mjs';
import { sandboxExec } from './sandbox-exec.mjs';
import { log, lsregister, tccutil } from './tcc.mjs';
import {
  converter,
  csrutil,
  defaults,
  lsof,
  open,
  osacompile,
  osascript,
  otool,
  pgrep,
  plutil,
  pmset,
  swVers,
  sysctl,
  xattr,
  xcodeSelect,
} from './tools.mjs';

const PROGRAMS = {
  afconvert: converter,
  codesign,
  csrutil,
  defaults,
  launchctl,
  log,
  lsof,
  lsregister,
  open,
  osacompile,
  osascript,
  otool,
  pgrep,
  plutil,
  pmset,
  'sandbox-exec': sandboxExec,
  sips: converter,
  sw_vers: swVers,
  sysctl,
  tccutil,
  xattr,
  'xcode-select': xcodeSelect,
};

/** Returns the name of a program's stand-in: some are started by their full paths. */
export function nameOf(command) {
  return /^\/usr\/bin\/|\/lsregister$/.test(command) ? basename(command) : command;
}

export function isStandIn(command) {
  return Object.hasOwn(PROGRAMS, nameOf(command));
}

/**
 * Runs a stand-in and records the call, one line each. `environment` has MAC_STAND_IN, the folder of this Mac's state;
 * `isProgram` is true in a process that only runs this.
 */
export async function runStandIn(command, args, environment, isProgram = false) {
  const name = nameOf(command);
  appendFileSync(join(environment.MAC_STAND_IN, 'asked'), `${[name, ...args].join('\t')}\n`);
  const { code, stdout = '', stderr = '' } = await PROGRAMS[name](args, environment, isProgram);
  return { code, stdout: ended(stdout), stderr: ended(stderr), trouble: null };
}

function ended(text) {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

// Maps programs to others on this machine: LaunchServices' tool has no fixed place here, and a Mach-O program runs as
// this Node, except inside the bundle, where its bytes were changed and an unsigned program is killed.
import { closeSync, openSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isSignedNode } from './codesign.mjs';
import { isStandIn, nameOf } from './programs.mjs';

export function onThisMac(command) {
  if (isStandIn(command)) return fileURLToPath(new URL(`./${nameOf(command)}`, import.meta.url));
  return command.startsWith('/') && !command.includes('Postern.app') && isMachO(command) ? process.argv[0] : command;
}

/** Reports whether this is a Mach-O program, or one that codesign's stand-in has signed: both run as this Node. */
export function isNode(command) {
  return command.startsWith('/') && (isMachO(command) || isSignedNode(command));
}

function isMachO(path) {
  try {
    const file = openSync(path, 'r');
    const magic = Buffer.alloc(4);
    readSync(file, magic, 0, 4, 0);
    closeSync(file);
    return magic.toString('hex') === 'cffaedfe';
  } catch {
    return false;
  }
}

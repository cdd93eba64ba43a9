// What is started under another name here: LaunchServices' tool has no place of its own on this machine, and a Mach-O
// program runs as this Node. One in the bundle does not: its bytes were changed, and what is not signed is killed.
import { closeSync, openSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isSignedNode } from './codesign.mjs';
import { isStandIn, nameOf } from './programs.mjs';

export function onThisMac(command) {
  if (isStandIn(command)) return fileURLToPath(new URL(`./${nameOf(command)}`, import.meta.url));
  return command.startsWith('/') && !command.includes('Postern.app') && isMachO(command) ? process.argv[0] : command;
}

/** A Mach-O program, or one that codesign's stand-in has signed: both run as this Node. */
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

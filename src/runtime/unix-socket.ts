import { lstatSync, type Stats, statSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { dirname } from 'node:path';
import { errorCode } from '../domain/errors.ts';

/**
 * Starts to listen on a Unix socket that nobody else can connect to, not even for a moment. A socket that is there
 * is replaced, so the caller must hold the lock of its folder. Throws with a sentence when it cannot be done.
 */
export function listenPrivately(server: Server, path: string): void {
  const trouble = folderTrouble(dirname(path)) ?? obstacle(path);
  if (trouble !== undefined) throw new Error(trouble);
  // Node binds before listen() returns: the socket never exists with another mode than 0600.
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
}

/** Why a key must not be sent to this socket: somebody else's program could be behind it. Undefined when it may, or when nothing is there. */
export function socketTrouble(path: string): string | undefined {
  const socket = lstatSync(path, { throwIfNoEntry: false });
  if (socket === undefined) return undefined;
  if (!socket.isSocket()) return obstacleSentence(path, socket);
  const owner = statSync(dirname(path)).uid;
  if (socket.uid !== owner && socket.uid !== 0) return `${path} belongs to another user than its folder.`;
  return folderTrouble(dirname(path));
}

/** Others who may write to the folder could put a socket of their own there. */
function folderTrouble(folder: string): string | undefined {
  return (statSync(folder).mode & 0o022) === 0
    ? undefined
    : `Other users of this machine may write to ${folder}: chmod 700 it.`;
}

/** Removes a socket that an earlier process left. Gives what is in the way: it is not ours to remove. */
function obstacle(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isSocket()) return obstacleSentence(path, found);
  try {
    unlinkSync(path);
    return undefined;
  } catch (error) {
    return `${path} is left from an earlier start and cannot be removed (${errorCode(error)}): remove it and restart Postern.`;
  }
}

function obstacleSentence(path: string, found: Stats): string {
  return `${path} is ${kindOf(found)}, not a socket: remove it and restart Postern.`;
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return 'a symbolic link';
  if (found.isDirectory()) return 'a folder';
  if (found.isFIFO()) return 'a named pipe';
  return found.isFile() ? 'a file' : 'a device';
}

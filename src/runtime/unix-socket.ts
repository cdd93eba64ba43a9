import { lstatSync, type Stats, statSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { dirname } from 'node:path';
import { errorCode } from '../domain/errors.ts';

/**
 * Listens on a Unix socket that no other user can connect to, not even for a moment. Replaces an existing socket, so
 * the caller must hold the folder's lock. Throws an error whose message says why it cannot listen.
 */
export function listenPrivately(server: Server, path: string): void {
  const trouble = folderTrouble(dirname(path)) ?? obstacle(path);
  if (trouble !== undefined) throw new Error(trouble);
  // Node binds before listen() returns, so the socket never has a mode other than 0600.
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
}

/**
 * Returns the reason why a key must not be sent to this socket: another user's program could be listening. Returns
 * undefined if the key may be sent, or if nothing exists there.
 */
export function socketTrouble(path: string): string | undefined {
  const socket = lstatSync(path, { throwIfNoEntry: false });
  if (socket === undefined) return undefined;
  if (!socket.isSocket()) return obstacleSentence(path, socket);
  const owner = statSync(dirname(path)).uid;
  if (socket.uid !== owner && socket.uid !== 0) return `${path} and its folder belong to different users.`;
  return folderTrouble(dirname(path));
}

/** Returns a sentence if other users can write to the folder, because they could put their own socket there. */
function folderTrouble(folder: string): string | undefined {
  return (statSync(folder).mode & 0o022) === 0
    ? undefined
    : `Other users of this machine can write to ${folder}. Run: chmod 700 ${folder}`;
}

/**
 * Removes a socket that an earlier process left. Returns a description of anything else in the way, which is not
 * Postern's to remove.
 */
function obstacle(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isSocket()) return obstacleSentence(path, found);
  try {
    unlinkSync(path);
    return undefined;
  } catch (error) {
    return `${path} was left by an earlier run and cannot be removed (${errorCode(error)}): remove it and restart Postern.`;
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

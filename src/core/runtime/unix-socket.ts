import { lstatSync, type Stats, statSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { dirname } from 'node:path';
import { quoted } from '../model/command-words.ts';
import { errorCode } from '../model/errors.ts';

/**
 * Listens on a Unix socket that other users cannot connect to, not even while it is being created. Removes a socket
 * that exists at `path`, so the caller must hold the folder's lock. Throws an error whose message is the reason why it
 * cannot listen.
 */
export function listenPrivately(server: Server, path: string): void {
  const trouble = folderTrouble(dirname(path)) ?? obstacle(path);
  if (trouble !== undefined) throw new Error(trouble);
  // `listen` creates the socket before it returns. So the umask applies, and the mode is 0600 from the start.
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
}

/**
 * Returns the reason why no API key may be sent to this socket: a program of another user could be listening on it.
 * Returns undefined if a key may be sent, or if nothing exists at `path`.
 */
export function socketTrouble(path: string): string | undefined {
  const socket = lstatSync(path, { throwIfNoEntry: false });
  if (socket === undefined) return undefined;
  if (!socket.isSocket()) return obstacleSentence(path, socket);
  const owner = statSync(dirname(path)).uid;
  if (socket.uid !== owner && socket.uid !== 0) return `${path} and its folder belong to different users.`;
  return folderTrouble(dirname(path));
}

/** Returns a sentence if other users can write to the folder, because they could replace the socket with their own. */
function folderTrouble(folder: string): string | undefined {
  return (statSync(folder).mode & 0o022) === 0
    ? undefined
    : `Other users of this machine can write to ${folder}. Run: chmod 700 ${quoted(folder)}`;
}

/**
 * Removes a socket that an earlier process left at `path`. Returns a sentence with the reason if removing fails, or if
 * `path` is not a socket, because Postern must not remove anything else.
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

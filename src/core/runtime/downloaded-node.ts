import { spawn } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { HOUR_MS } from '../model/durations.ts';
import { AppError } from '../model/errors.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { RunCommand } from './command.ts';
import { fetchNodePackage, integrityOf, type VerifiedNodePackage } from './node-package.ts';

export interface DownloadedNodeParts {
  readonly pinned: VerifiedNodePackage;
  /** The cache folder: everything in it can be created or downloaded again. */
  readonly cacheFolder: string;
  readonly run: RunCommand;
  readonly clock: Clock;
  /** Called before a download, which takes some time. */
  readonly onDownload: () => void;
}

const NAME = /^node-\d/;
const UNFINISHED = '.node-';
/** If the folder of an unfinished download has not changed for this long, the download was interrupted. */
const INTERRUPTED_MS = HOUR_MS;

/**
 * Returns the path of the pinned Node's executable in the cache folder. Downloads Node first if the executable is
 * missing, was altered, or could have been altered by another user. Throws `package_altered`, or `node_not_fetched`
 * with the reason.
 */
export async function downloadedNode(parts: DownloadedNodeParts): Promise<string> {
  const { pinned, cacheFolder, run, clock, onDownload } = parts;
  const folder = join(cacheFolder, `node-${pinned.version}-${pinned.name.replace(/^node-(?:bin-)?/, '')}`);
  const node = join(folder, 'node');
  mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
  refuseOtherWriters(cacheFolder);
  if (isGenuine(folder, pinned)) return node;

  onDownload();
  const workshop = mkdtempSync(join(cacheFolder, UNFINISHED));
  const discard = (): void => rmSync(workshop, { recursive: true, force: true });
  process.once('exit', discard);
  try {
    const trouble = await fetchNodePackage(run, pinned, workshop);
    if (trouble !== null) throw new AppError('node_not_fetched', trouble);
    const finished = mkdtempSync(join(workshop, 'finished-'));
    renameSync(join(workshop, 'package/bin/node'), join(finished, 'node'));
    chmodSync(join(finished, 'node'), 0o700);
    // Another process may have downloaded this Node in the meantime.
    if (!isGenuine(folder, pinned)) {
      rmSync(folder, { recursive: true, force: true });
      renameSync(finished, folder);
    }
  } finally {
    process.off('exit', discard);
    discard();
  }
  removeOlder(cacheFolder, folder, clock);
  if (!isGenuine(folder, pinned)) {
    throw new AppError('node_not_fetched', `${node} differs from the program in the npm package ${pinned.name}.`);
  }
  return node;
}

/** Removes other versions of Node, and the folders of interrupted downloads. */
function removeOlder(cacheFolder: string, kept: string, clock: Clock): void {
  for (const name of readdirSync(cacheFolder)) {
    const path = join(cacheFolder, name);
    const { mtimeMs } = statusOf(path) ?? { mtimeMs: Number.POSITIVE_INFINITY };
    const isInterrupted = name.startsWith(UNFINISHED) && mtimeMs < clock.now() - INTERRUPTED_MS;
    if (isInterrupted || (NAME.test(name) && path !== kept)) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Removes the write access of other users to the folder, because they could replace the verified program before it is
 * started. Throws `node_not_fetched` if another user owns the folder, as when Postern runs under sudo.
 */
function refuseOtherWriters(folder: string): void {
  const { uid, mode } = statSync(folder);
  if (uid !== process.getuid?.()) throw new AppError('node_not_fetched', `${folder} belongs to another user.`);
  if ((mode & 0o022) !== 0) chmodSync(folder, 0o700);
}

/**
 * Reports whether `node` in this folder is the pinned program, and no other user has access to the folder or the
 * program.
 */
function isGenuine(folder: string, { executable }: VerifiedNodePackage): boolean {
  const node = join(folder, 'node');
  const [outer, inner] = [statusOf(folder), statusOf(node)];
  if (outer?.isDirectory() !== true || inner?.isFile() !== true) return false;
  const isOwn = [outer, inner].every(({ uid, mode }) => uid === process.getuid?.() && (mode & 0o077) === 0);
  return isOwn && integrityOf(node) === executable;
}

function statusOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/**
 * Runs Postern again with the executable `node`, with the same arguments, environment and terminal. Resolves with the
 * exit code of the new process. Passes signals on to it. The new process ends when this process ends.
 */
export function runAgainOn(node: string): Promise<number> {
  const child = spawn(node, process.argv.slice(1), { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  // A terminal sends these signals to both processes, so they are not passed on.
  const fromTerminal = new Set<NodeJS.Signals>(process.stdin.isTTY ? ['SIGINT', 'SIGHUP'] : []);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => fromTerminal.has(signal) || child.kill(signal));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
}

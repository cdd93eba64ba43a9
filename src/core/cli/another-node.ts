import { cacheFolder } from '../config/environment.ts';
import { type AppError, isAppError } from '../model/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { commandRunner } from '../runtime/command.ts';
import { downloadedNode, runAgainOn } from '../runtime/downloaded-node.ts';
import { NODE_PACKAGES } from '../runtime/node-package.ts';
import { type Context, EXIT } from './context.ts';

/**
 * Runs the command again on a Node from npm that has SQLite, and resolves with its exit code. Refuses if
 * POSTERN_NODE_DOWNLOAD is set to a value other than 1, or if npm has no such Node for this platform.
 */
export async function runOnAnotherNode(missing: AppError, context: Context): Promise<number> {
  const { environment, stderr } = context;
  const pinned = NODE_PACKAGES[`${environment.platform}-${process.arch}`];
  const { POSTERN_NODE_DOWNLOAD: download = '1' } = environment.env;
  // If true, the pinned version is already running, and an option of Node must have switched off SQLite. Starting this
  // version again would never end.
  const isListed = process.version === `v${pinned?.version}`;
  if (pinned === undefined || isListed || !['', '1'].includes(download)) return refuse(missing, [], context);
  try {
    const node = await downloadedNode({
      pinned,
      cacheFolder: cacheFolder(environment),
      run: commandRunner(environment.env),
      clock: systemClock,
      onDownload: () =>
        stderr(
          `Node ${process.versions.node} has no SQLite that Postern can use. Downloading Node ${pinned.version} for Postern, once`,
          `(npm package ${pinned.name}, about 50 MB; POSTERN_NODE_DOWNLOAD=0 prevents it) …`,
        ),
    });
    return await runAgainOn(node);
  } catch (error) {
    const reason = isAppError(error) ? error.message : (error as Error).message;
    const hint = isAppError(error) ? error.hint : undefined;
    const failure = `Node ${pinned.version} cannot be used instead: ${reason}`;
    return refuse(missing, hint === undefined ? [failure] : [failure, hint], context);
  }
}

function refuse({ message, hint }: AppError, details: readonly string[], { stderr, paintError }: Context): number {
  const advice = hint === undefined ? [] : [hint];
  stderr(
    paintError('red', `Postern does not start: ${message}`),
    ...[...details, ...advice].map((line) => `  ${line}`),
  );
  return EXIT.config;
}

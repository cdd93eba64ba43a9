import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { HostContext } from '../../core/cli/client-context.ts';
import { EXIT, type FolderOptions, folderOf } from '../../core/cli/context.ts';
import { reportFailure } from '../../core/cli/failure.ts';
import { copyable } from '../../core/cli/invocation.ts';
import { configPath, readConfig } from '../../core/config/config-file.ts';
import { quoted } from '../../core/model/command-words.ts';
import { AppError } from '../../core/model/errors.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { publish, removeIfThere, sync } from '../../core/runtime/whole-file.ts';
import { assertRestored } from '../../core/state/restored.ts';
import { writeBackup } from './backup-file.ts';

export interface BackupOptions extends FolderOptions {
  /** True to replace existing files. */
  readonly force?: boolean;
}

/** `postern backup FILE`: writes configuration and state into one file, even while the service runs. */
export function backupCommand(file: string, options: BackupOptions, context: HostContext): Promise<number> {
  return reportFailure('No backup was written', options, context, async () => {
    const folder = folderOf(options, context);
    const path = resolve(file);
    if (
      isSameFolder(dirname(path), folder) &&
      /^(config\.toml|postern\.sock|(state|lock|search)\.db.*)$/i.test(basename(path))
    ) {
      throw new AppError('backup_misplaced', `${path} is a file of the service itself.`, {
        hint: 'Name another file.',
      });
    }
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing?.isFile() === false) {
      throw new AppError('backup_misplaced', `${path} is not a file.`, { hint: 'Name another file.' });
    }
    if (options.force !== true && existing !== undefined) {
      throw new AppError('backup_exists', `${path} already exists.`, { hint: '--force replaces it.' });
    }
    assertRestored(folder);
    write(path, folder, options.force === true, context);
    context.stdout(
      `Wrote ${path}: the configuration and the state of ${folder}.`,
      'It holds the API key and the secrets of webhooks: keep it private.',
      ...(isPrivate(path)
        ? []
        : ['This disk does not support file permissions, so anyone who has the disk can read the file.']),
      copyable(`To restore it, here or on another Mac: \`postern restore ${quoted(path)}\``, options, context),
    );
    return EXIT.ok;
  });
}

function write(path: string, folder: string, isForced: boolean, context: HostContext): void {
  const reading = readConfig(folder, context.environment);
  if (reading.state !== 'usable') {
    const mistakes = reading.state === 'absent' ? ['There is no such file.'] : reading.mistakes;
    throw new AppError('config_unusable', `${reading.path} cannot be used.`, {
      hint: mistakes.join('\n  '),
    });
  }
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  try {
    // Creates the file as 0600 before writing to it, so that nobody else can ever read it.
    closeSync(openSync(draft, 'wx', 0o600));
    const about = {
      version: context.version,
      createdAt: isoSecond(systemClock.now()),
      config: readFileSync(configPath(folder), 'utf8'),
    };
    writeBackup(join(folder, 'state.db'), draft, about, context.features);
    if (isForced) renameSync(draft, path);
    else publish(draft, path);
    sync(dirname(path));
  } finally {
    removeIfThere(draft);
  }
}

/**
 * Compares folders by inode, because one folder can have many paths: through links, or in different capitals on a disk
 * that ignores case.
 */
function isSameFolder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}

function isPrivate(path: string): boolean {
  return (statSync(path).mode & 0o077) === 0;
}

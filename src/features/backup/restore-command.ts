import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readLogIdentity } from '../../core/chatdb/public.ts';
import type { HostContext } from '../../core/cli/client-context.ts';
import { type Context, EXIT, folderOf } from '../../core/cli/context.ts';
import { reportFailure } from '../../core/cli/failure.ts';
import { copyable } from '../../core/cli/invocation.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import { type Config, sectionsOf } from '../../core/config/config.ts';
import { checkConfigText } from '../../core/config/config-file.ts';
import { usualValues } from '../../core/config/setting.ts';
import { SETTINGS } from '../../core/config/settings.ts';
import type { Feature } from '../../core/feature.ts';
import { isReplaced } from '../../core/model/cursor.ts';
import { AppError, isAppError } from '../../core/model/errors.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { assertSqlite } from '../../core/runtime/sqlite.ts';
import { removeIfThere, writeDraft } from '../../core/runtime/whole-file.ts';
import { lockFolder } from '../../core/state/lock.ts';
import type { BackupOptions } from './backup-command.ts';
import { extractState, type RestoredState, readBackup, replaceFiles } from './backup-file.ts';

/** Maximum number of webhook receivers listed by name. */
const MAX_NAMED = 10;

/** `postern restore FILE`: restores the backup's configuration and state. */
export function restore(file: string, options: BackupOptions, context: HostContext): Promise<number> {
  return reportFailure('Nothing was restored', options, context, async () => {
    assertSqlite();
    const path = resolve(file);
    const folder = folderOf(options, context);
    const { version, createdAt, config: text } = readBackup(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const unlock = lockFolder(folder);
    try {
      if (options.force !== true) assertEmpty(folder);
      const { config, state } = replace(path, text, folder, context);
      context.stdout(
        `Restored the configuration and the state that Postern ${oneLine(version)} backed up on ${oneLine(createdAt)} to ${folder}.`,
        `The backup has ${state.webhooks.length} ${state.webhooks.length === 1 ? 'webhook' : 'webhooks'} and the API key of that time.`,
        position(config, state, context),
        ...[...state.notes, ...decided(config, state, context)].map((line) =>
          copyable(oneLine(line), options, context),
        ),
        'Start Postern only if you made the backup yourself. The person who made it knows the API key.',
      );
      return EXIT.ok;
    } finally {
      unlock();
    }
  });
}

function assertEmpty(folder: string): void {
  const found = ['config.toml', 'state.db'].filter((name) => existsSync(join(folder, name)));
  if (found.length === 0) return;
  throw new AppError('restore_occupied', `${folder} has a ${found.join(' and a ')} already.`, {
    hint: '--force replaces them for good. Save them first: `postern backup FILE`',
  });
}

/**
 * Replaces config.toml and state.db, or neither. Writes and checks the new version of both before it replaces either.
 */
function replace(
  path: string,
  text: string,
  folder: string,
  { environment, features }: HostContext,
): { config: Config; state: RestoredState } {
  // The drafts' names are fixed, so that a restore can remove the drafts of an earlier restore that was interrupted.
  const drafts = { config: join(folder, '.restored-config.toml'), state: join(folder, '.restored-state.db') };
  const clean = (): void => {
    for (const file of [drafts.config, drafts.state, `${drafts.state}-wal`, `${drafts.state}-shm`]) removeIfThere(file);
  };
  clean();
  try {
    const checked = checkConfigText(text, folder, environment);
    const state = stateOf(path, drafts.state, features);
    if (!('config' in checked) || isAppError(state)) {
      const mistakes = 'config' in checked ? [] : checked.mistakes.map((mistake) => `config.toml: ${mistake}`);
      if (isAppError(state)) mistakes.push(`state.db: ${state.message}`);
      throw new AppError('backup_unusable', `${path} cannot be used here:`, { hint: mistakes.join('\n  ') });
    }
    writeDraft(drafts.config, text);
    replaceFiles(folder, drafts);
    return { config: checked.config, state };
  } finally {
    clean();
  }
}

function stateOf(path: string, draft: string, features: readonly Feature[]): RestoredState | AppError {
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    return extractState(path, draft, systemClock.now(), features);
  } catch (error) {
    if (isAppError(error)) return error;
    throw error;
  }
}

/**
 * Describes what the backup decides: the webhooks, and settings that differ from their defaults: the addresses to
 * listen on, and the program that sends. Somebody else may have made the backup, so the user reads this before the
 * first start.
 */
function decided(config: Config, { webhooks }: RestoredState, { environment }: Context): readonly string[] {
  const { backend } = config;
  const { osascriptPath } = usualValues(SETTINGS.backend, environment);
  const receivers = [...new Set(webhooks.map((url) => new URL(url).host))];
  const named = receivers.slice(0, MAX_NAMED).join(', ') + (receivers.length > MAX_NAMED ? ' and others' : '');
  return [
    ...(receivers.length === 0 ? [] : [`The webhooks post to ${named}.`]),
    ...sectionsOf(environment)
      .filter(({ settings, valuesIn }) => valuesIn(config).host !== usualValues(settings, environment).host)
      .map(({ valuesIn }) => `Postern will listen on ${String(valuesIn(config).host)}.`),
    ...(backend.osascriptPath === osascriptPath
      ? []
      : [`Postern will send with the program ${backend.osascriptPath}, not with osascript of this machine.`]),
  ];
}

/**
 * Describes the event with which Postern will continue after the restore (decision C5). If this command cannot read
 * chat.db, describes both possible cases.
 */
function position({ backend: { chatDbPath } }: Config, { cursor }: RestoredState, { environment }: Context): string {
  if (cursor === undefined) {
    return 'The backup is from before the first event, so events begin after the newest message.';
  }
  try {
    const now = readLogIdentity({ chatDbPath, homeFolder: environment.homeFolder }, cursor.offset);
    return isReplaced(cursor, now)
      ? `${chatDbPath} is not the database from the backup. Events and webhooks begin after its newest message; older messages are not delivered.`
      : `${chatDbPath} is the database from the backup. Events and webhooks resume where they stopped.`;
  } catch (error) {
    if (!isAppError(error)) throw error;
    return `${chatDbPath} cannot be read from here. If it is the database from the backup, events resume where they stopped; otherwise they begin after its newest message.`;
  }
}

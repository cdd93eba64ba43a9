import type { RunCommand } from '../../core/runtime/command.ts';

const ATTRIBUTE = 'com.apple.metadata:com_apple_backup_excludeItem';
/**
 * The value of the attribute that `tmutil addexclusion` sets: the binary property list of the string
 * `com.apple.backupd`. Postern sets it with xattr, because tmutil needs Full Disk Access.
 */
const VALUE =
  '62706c69737430305f1011636f6d2e6170706c652e6261636b75706408000000000000010100000000000000010000000000000000000000000000001c';

/**
 * Excludes a SQLite database and its side files from Time Machine, whose backups keep a deleted file for years. Sets an
 * attribute that belongs to the file and not to its path, so every new file needs it again. Ignores failures.
 */
export async function excludeFromBackups(run: RunCommand, path: string): Promise<void> {
  await run('xattr', ['-wx', ATTRIBUTE, VALUE, path, `${path}-wal`, `${path}-shm`]);
}

import { expect, test } from '@jest/globals';
import { commandRunner, type RunCommand } from '../../src/core/runtime/command.ts';
import { excludeFromBackups } from '../../src/features/search/backup-exclusion.ts';

/** Returns the only object of a binary property list: a string of at most 255 ASCII characters. */
function stringIn(plist: Buffer): string {
  const offsets = Number(plist.readBigUInt64BE(plist.length - 8));
  const object = plist.readUInt8(offsets);
  expect(plist.subarray(0, 8).toString()).toBe('bplist00');
  // 0x5f: an ASCII string whose length follows as an integer of one byte (0x10).
  expect([...plist.subarray(object, object + 2)]).toEqual([0x5f, 0x10]);
  return plist.subarray(object + 3, object + 3 + plist.readUInt8(object + 2)).toString('ascii');
}

test('a database and its -wal and -shm are marked as tmutil marks what is left out of backups', async () => {
  const calls: (readonly string[])[] = [];
  const run: RunCommand = (command, args) => {
    calls.push([command, ...args]);
    return commandRunner({})('/nonexistent', []);
  };
  await excludeFromBackups(run, '/p/search.db');
  const [[command, option, name, value = '', ...files] = []] = calls;
  expect([command, option, name]).toEqual(['xattr', '-wx', 'com.apple.metadata:com_apple_backup_excludeItem']);
  expect(files).toEqual(['/p/search.db', '/p/search.db-wal', '/p/search.db-shm']);
  expect(stringIn(Buffer.from(value, 'hex'))).toBe('com.apple.backupd');
});

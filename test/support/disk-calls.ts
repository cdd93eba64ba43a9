import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Returns which of these calls `work` makes, in order: only they show what a power failure would leave. */
export function diskCalls(work: () => void): readonly string[] {
  const { fsyncSync, renameSync } = fs;
  const calls: string[] = [];
  fs.fsyncSync = (file) => {
    calls.push('sync');
    fsyncSync(file);
  };
  fs.renameSync = (from, to) => {
    calls.push('rename');
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  try {
    work();
  } finally {
    Object.assign(fs, { fsyncSync, renameSync });
    syncBuiltinESMExports();
  }
  return calls;
}

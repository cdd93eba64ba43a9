import { copyFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { MINUTE_MS } from '../model/durations.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';

/**
 * Maximum size of a log file. A larger file is copied to `<name>.1` at the next check and emptied. The copy replaces
 * the previous one, so the disk holds about twice this size.
 */
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * Bounds the size of the files to which launchd writes Postern's output. Checks each file now and once a minute. If
 * it is too large, copies it to `<name>.1` and empties it. Does not rename the file, because launchd keeps it open and
 * appends to it. A line written between copying and emptying is lost.
 */
export function boundLogFiles(
  files: readonly string[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Cancel {
  const failed = new Set<string>();
  let cancel: Cancel = () => undefined;
  const look = (): void => {
    for (const file of files) {
      try {
        setAside(file);
        failed.delete(file);
      } catch (error) {
        // Logs the failure once per file, because repeated warnings would make the log grow further.
        if (!failed.has(file)) log.warn('could not rotate a log file', { file, error });
        failed.add(file);
      }
    }
    cancel = clock.after(MINUTE_MS, look);
  };
  look();
  return () => cancel();
}

function setAside(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= MAX_BYTES) return;
  const copy = `${file}.1`;
  try {
    copyFileSync(file, `${copy}.new`);
    renameSync(`${copy}.new`, copy);
  } finally {
    // The file is emptied even if the copy failed, as on a full disk, because making room matters more.
    rmSync(`${copy}.new`, { force: true });
    truncateSync(file);
  }
}

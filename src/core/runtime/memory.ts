import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 collect garbage rather than grow the heap, because an agent runs for months beside everything else on a Mac.
 * Without it, a service that has searched holds 131 MiB in `make bench-quick` and not 106, and the bound is 120.
 */
export function preferLittleMemory(): void {
  setFlagsFromString('--optimize-for-size');
  // The flag above leaves 1 MB for new objects. For so little memory, one thread collects garbage faster than several
  // threads that must first be woken.
  setFlagsFromString('--no-parallel-scavenge');
}

/**
 * Runs long work that produces much garbage, and keeps V8 from using much memory for it. Without this, V8 would use up
 * to 16 MB more for new objects, and let the heap grow to more than twice the size of the live objects. An export with
 * pages of a million messages would then take more than the 200 MB of its bound (193 with it).
 */
export const withLittleGarbage = littleGarbage(setFlagsFromString);

/**
 * Returns a function that runs work while V8's flags for a small heap are set. The flags apply to the whole process: if
 * several calls overlap, the first one sets them and the one that ends last resets them.
 */
export function littleGarbage(setFlag: (flag: string) => void) {
  let running = 0;
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    running += 1;
    if (running === 1) {
      setFlag('--semi-space-growth-factor=1');
      setFlag('--heap-growing-percent=100');
    }
    try {
      return await work();
    } finally {
      running -= 1;
      if (running === 0) {
        // These are V8's defaults. With 0, V8 itself decides how far the heap grows: to at most four times the size of
        // the live objects.
        setFlag('--semi-space-growth-factor=2');
        setFlag('--heap-growing-percent=0');
      }
    }
  };
}

/** Returns the resident memory of this process in bytes. */
export function residentBytes(): number {
  return process.memoryUsage.rss();
}

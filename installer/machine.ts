import type { Clock } from '../src/domain/ports/host.ts';
import type { RunCommand } from '../src/runtime/command.ts';

/** Everything outside that an installation touches, passed in so that tests can replace it. */
export interface Machine {
  /** As Node names it: `darwin` on a Mac. */
  readonly platform: string;
  /** What this Node was built for; under Rosetta that is not what the Mac is. */
  readonly arch: string;
  readonly uid: number;
  readonly home: string;
  /** For temporary files. */
  readonly temporaryFolder: string;
  /** The Node that runs the installer. */
  readonly execPath: string;
  /** Folders in which programs are looked up, in order. */
  readonly path: readonly string[];
  /** Folders with a `bin` for programs of the person and a `share` for what belongs to them, the best first. */
  readonly prefixes: readonly string[];
  readonly run: RunCommand;
  readonly clock: Clock;
  /** One line for the person. */
  readonly stdout: (line: string) => void;
}

export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

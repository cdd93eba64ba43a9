import type { Clock } from '../src/core/model/ports/host-ports.ts';
import type { RunCommand } from '../src/core/runtime/command.ts';

/** Everything outside the program that an installation touches, passed in so that tests can replace it. */
export interface Machine {
  /** The platform's name in Node: `darwin` on a Mac. */
  readonly platform: string;
  /** The architecture that this Node was built for. Under Rosetta it differs from the Mac's. */
  readonly arch: string;
  readonly uid: number;
  readonly home: string;
  /** The folder that holds the home folders of all accounts. */
  readonly usersFolder: string;
  readonly temporaryFolder: string;
  /** Path of the Node that runs the installer. */
  readonly execPath: string;
  /** The folders of PATH, in which programs are looked up, in order. */
  readonly path: readonly string[];
  /**
   * Folders with a `bin` for the user's programs and a `share` for the data of these programs, the preferred folder
   * first.
   */
  readonly prefixes: readonly string[];
  readonly run: RunCommand;
  readonly clock: Clock;
  /** Prints one line for the user. */
  readonly stdout: (line: string) => void;
}

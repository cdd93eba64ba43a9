import type { Feature } from './feature.ts';
import type { ClientSetup } from './model/client-lines.ts';
import type { CommandWords } from './model/command-words.ts';
import type { Clock, Log } from './model/ports/host-ports.ts';
import type { RunCommand } from './runtime/command.ts';

/** The machine the service runs on. */
export interface Host {
  readonly clock: Clock;
  readonly log: Log;
  /** True if launchd supervises this process (decisions A3, C6). */
  readonly supervised: boolean;
  readonly version: string;
  /** The features of this program, in the order in which they are opened. */
  readonly features: readonly Feature[];
  /** Node's name for the platform, or `simulated` in the demo. */
  readonly platform: string;
  readonly homeFolder: string;
  /** Folder for data that can be recreated. */
  readonly cacheFolder: string;
  /** Runs programs of this machine, looked up on PATH. */
  readonly run: RunCommand;
  /**
   * How clients start a command, such as `postern mcp`. Absent if the service was not started from the command line.
   */
  readonly invocation?: ClientSetup['invocation'];
  /** How a person runs a command with this service. Absent like `invocation`. */
  readonly cli?: CommandWords;
  /** Called once this process holds the configuration folder's lock, before anything else is opened. */
  readonly onLocked?: () => Promise<void>;
  /** Requests a restart (exit code 75). */
  restart(): void;
}

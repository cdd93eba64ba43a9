import type { DemoPeople } from '../domain/ports/demo.ts';
import type { Clock, Log } from '../domain/ports/host.ts';
import type { RunCommand } from '../runtime/command.ts';

/** The machine the service runs on. */
export interface Host {
  readonly clock: Clock;
  readonly log: Log;
  /** launchd watches over this process (decisions A3, C6). */
  readonly supervised: boolean;
  readonly version: string;
  /** As Node names it, or `simulated`. */
  readonly platform: string;
  readonly homeFolder: string;
  /** For what can be made again. */
  readonly cacheFolder: string;
  /** Programs of this machine, looked up on PATH. */
  readonly run: RunCommand;
  /** Of a demo. */
  readonly people?: DemoPeople;
  /** Called once the configuration folder is this process's alone, before anything else is opened. */
  readonly onLocked?: () => Promise<void>;
  /** Asks to be stopped and started again (exit code 75). */
  restart(): void;
}

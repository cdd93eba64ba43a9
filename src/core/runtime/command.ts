import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { errorCode } from '../model/errors.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import { systemClock } from './clock.ts';

/** The result of a program. `code` is null if the program could not be started or was ended by a signal. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /**
   * Why the program did not run to its end. `missing`: it does not exist. `failed`: it could not be started for another
   * reason. `time_limit`: it was killed at its time limit. Null otherwise, even if the program exited with an error.
   */
  readonly trouble: 'missing' | 'time_limit' | 'failed' | null;
  /** The system's error code (`ENOENT`, `EACCES`, …) if the program could not be started. */
  readonly startError?: string;
}

export interface CommandOptions {
  readonly timeoutMs?: number;
  readonly cwd?: string;
  /** Variables that are added to the environment passed to `commandRunner`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each piece of the program's stdout and stderr as it arrives. */
  readonly onOutput?: (text: string) => void;
  /** Aborting this signal kills the program, as the time limit does. */
  readonly signal?: AbortSignal;
  /**
   * Runs the program in its own process group. A kill then also reaches its children, and Ctrl+C does not reach the
   * program.
   */
  readonly hasOwnGroup?: boolean;
}

/** Runs a program with these arguments, never through a shell. Never rejects: the result says if it failed. */
export type RunCommand = (command: string, args: readonly string[], options?: CommandOptions) => Promise<CommandResult>;

/** Maximum number of characters kept of stdout, and of stderr. Longer output loses its beginning. */
const MAX_OUTPUT_CHARACTERS = 1 << 20;
const TIMEOUT_MS = 30_000;
/** Time in which the pipes must close after the program has ended. The program's children may keep them open. */
const DRAIN_MS = 250;

/**
 * Returns a function that runs programs with the variables in `environment`, without those of this process. Finds the
 * programs on the PATH in `environment`.
 */
export function commandRunner(
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock = systemClock,
): RunCommand {
  return (command, args, options = {}) => {
    const { timeoutMs = TIMEOUT_MS, cwd, hasOwnGroup = false } = options;
    const env = { ...environment, ...options.env };
    return new Promise((resolve) => {
      let child: ChildProcess;
      try {
        child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: hasOwnGroup });
      } catch (error) {
        resolve(notStarted(error)); // spawn throws if a value has NUL or is too long for the system
        return;
      }
      const stdout = keepEnd(child.stdout, options.onOutput);
      const stderr = keepEnd(child.stderr, options.onOutput);
      let isOverTime = false;
      const kill = (): void => killChild(child, hasOwnGroup);
      const cancelLimit = clock.after(timeoutMs, () => {
        isOverTime = true;
        kill();
      });
      const end = (result: CommandResult): void => {
        cancelLimit();
        options.signal?.removeEventListener('abort', kill);
        resolve(result);
      };
      options.signal?.addEventListener('abort', kill);
      if (options.signal?.aborted === true) kill();
      child.once('error', (error) => end(notStarted(error)));
      child.once('exit', () => child.once('close', clock.after(DRAIN_MS, kill)));
      child.once('close', (code) =>
        end({ code, stdout: stdout(), stderr: stderr(), trouble: code === null && isOverTime ? 'time_limit' : null }),
      );
    });
  };
}

function notStarted(error: unknown): CommandResult {
  const startError = errorCode(error) ?? 'cannot be started';
  return { code: null, stdout: '', stderr: '', trouble: startError === 'ENOENT' ? 'missing' : 'failed', startError };
}

function keepEnd(stream: Readable | null, onOutput?: (text: string) => void): () => string {
  let kept = '';
  stream?.setEncoding('utf8').on('data', (text: string) => {
    kept = (kept + text).slice(-MAX_OUTPUT_CHARACTERS);
    onOutput?.(text);
  });
  return () => kept;
}

function killChild(child: ChildProcess, hasOwnGroup: boolean): void {
  try {
    if (hasOwnGroup && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch (error) {
    // ESRCH: the group has just ended by itself.
    if (errorCode(error) !== 'ESRCH') child.kill('SIGKILL');
  }
  // A child that left the process group may keep the pipes open. Destroying them makes Node emit 'close' anyway.
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/**
 * How a program ended: its exit code, or else the signal that ended it or the error that kept it from starting
 * (`ENOENT`, …).
 */
type PipedEnd = { readonly code: number } | { readonly code: null; readonly reason: string };

/** Runs a program with `input` on its stdin. Its stdout and stderr are those of this process. Never rejects. */
export function pipeTo(
  command: string,
  args: readonly string[],
  { env, input }: { readonly env: Readonly<Record<string, string | undefined>>; readonly input: string },
): Promise<PipedEnd> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ['pipe', 'inherit', 'inherit'] });
    child.once('error', (error: NodeJS.ErrnoException) => resolve({ code: null, reason: error.code ?? error.message }));
    child.once('close', (code, signal) => resolve(code === null ? { code, reason: signal ?? 'a signal' } : { code }));
    // The program may end without reading its stdin.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

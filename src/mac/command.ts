import { spawn } from 'node:child_process';

/** How a program ended. `code` is null when it could not be started or did not end by itself. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** `missing`: no such program; `time_limit`: killed after `timeoutMs`; `failed`: could not be started for another reason. */
  readonly trouble: 'missing' | 'time_limit' | 'failed' | null;
}

export interface CommandOptions {
  readonly timeoutMs?: number;
  readonly cwd?: string;
  /** Added to the environment the runner was made with. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with what the program prints, as it comes. */
  readonly onOutput?: (text: string) => void;
}

/** Runs a program by its arguments, never through a shell. Does not throw. */
export type RunCommand = (command: string, args: readonly string[], options?: CommandOptions) => Promise<CommandResult>;

const OUTPUT_LIMIT_CHARACTERS = 1 << 20;
const TIMEOUT_MS = 30_000;

/** A runner whose programs get exactly this environment; the program is looked up on its PATH. */
export function commandRunner(environment: Readonly<Record<string, string | undefined>>): RunCommand {
  return (command, args, options = {}) =>
    new Promise((resolve) => {
      const child = spawn(command, args, {
        env: { ...environment, ...options.env },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: options.timeoutMs ?? TIMEOUT_MS,
        killSignal: 'SIGKILL',
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      });
      const output = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const) {
        child[name].setEncoding('utf8').on('data', (text: string) => {
          if (output[name].length < OUTPUT_LIMIT_CHARACTERS) output[name] += text;
          options.onOutput?.(text);
        });
      }
      child.on('error', (error: NodeJS.ErrnoException) =>
        resolve({ code: null, ...output, trouble: error.code === 'ENOENT' ? 'missing' : 'failed' }),
      );
      child.on('close', (code, signal) =>
        resolve({
          code,
          ...output,
          trouble: code === null && signal === 'SIGKILL' && child.killed ? 'time_limit' : null,
        }),
      );
    });
}

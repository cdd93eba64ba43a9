import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ABSENT, BARE_ENVIRONMENT, whenFileEnds } from './temporary.ts';

export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface PosternOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The user who runs the program; the one who runs the tests by default. */
  readonly uid?: number | undefined;
  /** The content of stdin; empty by default. */
  readonly input?: string | Uint8Array;
}

/** Runs the built program until it ends. */
export async function postern(args: readonly string[], options: PosternOptions = {}): Promise<Ended> {
  const running = startPostern(args, options);
  return { exitCode: await running.ended, stdout: running.stdout, stderr: running.stderr };
}

export interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code, once the program has ended and its whole output was read. */
  readonly ended: Promise<number | null>;
}

/** Starts the built program, whose output so far can be inspected. */
export function startPostern(
  args: readonly string[],
  { env = {}, cwd = '/', input = '', uid }: PosternOptions = {},
): Running {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    ...(uid !== undefined && { uid, gid: uid }),
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...BARE_ENVIRONMENT, HOME: ABSENT, TZ: 'UTC', ...env },
  });
  whenFileEnds(() => child.kill('SIGKILL'));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (printed.stderr += chunk.toString()));
  return {
    ended: once(child, 'close').then(() => child.exitCode),
    child: child as unknown as Running['child'],
    get stdout() {
      return printed.stdout;
    },
    get stderr() {
      return printed.stderr;
    },
  };
}

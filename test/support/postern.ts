import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ClientContext } from '../../src/core/cli/client-context.ts';
import { secretLine } from '../../src/core/cli/output/secret-line.ts';
import { runProgram } from '../../src/core/cli/run-program.ts';
import { packageVersion } from '../../src/core/cli/version.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import { FEATURES } from '../../src/features/list.ts';
import { PLAIN } from './plain-context.ts';
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

/** Runs the built program until it ends, in a process of its own. */
async function posternProcess(args: readonly string[], options: PosternOptions = {}): Promise<Ended> {
  const running = startPostern(args, options);
  return { exitCode: await running.ended, stdout: running.stdout, stderr: running.stderr };
}

/** Reports whether a command serves, and so handles signals. `demo` followed by a name is a command like others. */
function isServing([name = '', next = '']: readonly string[]): boolean {
  return ['hub', 'run', 'serve'].includes(name) || (name === 'demo' && !/^\w/.test(next));
}

/**
 * Runs a command of the program: in this process, where it takes a fiftieth of the time, unless the options are those
 * of a process or the command handles signals.
 */
export async function postern(args: readonly string[], options: PosternOptions = {}): Promise<Ended> {
  const { env = {}, input = '', cwd, uid } = options;
  const isOfProcess = [cwd, uid, env.TZ, env.NODE_OPTIONS].some((one) => one !== undefined);
  if (isOfProcess || isServing(args)) return posternProcess(args, options);
  // The program that commands say they were started with.
  process.argv[1] = MAIN;
  const printed = { stdout: '', stderr: '' };
  const typed = new PassThrough().end(input);
  const print = (to: keyof typeof printed, lines: readonly string[]): void => {
    printed[to] += `${lines.join('\n')}\n`;
  };
  const context: ClientContext = {
    ...PLAIN,
    environment: { ...processEnvironment({ ...BARE_ENVIRONMENT, HOME: ABSENT, ...env }), features: FEATURES },
    features: FEATURES,
    version: packageVersion(),
    isTerminal: false,
    stdout: (...lines) => print('stdout', lines),
    stderr: (...lines) => print('stderr', lines),
    input: () => typed,
    secretLine: (prompt) => secretLine(prompt, typed as unknown as NodeJS.ReadStream, process.stderr),
    writeLine: async (line) => print('stdout', [line]),
    untilEnded: () => new AbortController().signal,
  };
  const exitCode = await runProgram([process.execPath, MAIN, ...args], context, async () => {});
  return { exitCode, ...printed };
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

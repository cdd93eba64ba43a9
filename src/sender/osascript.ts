import { type ChildProcess, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCode } from '../domain/errors.ts';
import type { Clock } from '../domain/ports/host.ts';
import type { MessagesApp, RunOutcome, SendPart } from '../domain/ports/sending.ts';
import { scriptErrorNumber } from '../domain/script-error.ts';

/** Decision D3. */
const RUN_LIMIT_MS = 30_000;
/** Decision D2. */
const OPEN_LIMIT_MS = 10_000;
/** `open` comes back when Messages has been launched; its first event right after that may be lost. */
const SETTLE_MS = 1000;
/** After the end of a run: for what it printed last to arrive. */
const DRAIN_MS = 250;
/** The error number stands at the end of what osascript prints, so only the end is kept. */
const STDERR_KEPT_BYTES = 4096;

const SCRIPT = fileURLToPath(new URL('./send.applescript', import.meta.url));

export interface OsascriptOptions {
  /** Absolute. `open` is looked for in the same folder. */
  readonly path: string;
  readonly clock: Clock;
}

/** Messages, driven by one constant script in a process of its own for each part (decisions D1 to D3). */
export function osascript(options: OsascriptOptions): MessagesApp {
  const { path, clock } = options;
  return {
    async run(part, signal) {
      const ended = await runBounded(path, [SCRIPT], environment(part), RUN_LIMIT_MS, clock, signal);
      return outcome(ended);
    },
    async open() {
      const opener = join(dirname(path), 'open');
      const ended = await runBounded(opener, ['-gjb', 'com.apple.MobileSMS'], LOCALE, OPEN_LIMIT_MS, clock);
      if (ended.exitCode === 0) await new Promise<void>((resolve) => void clock.after(SETTLE_MS, resolve));
    },
  };
}

/** Foundation reads the environment as UTF-8 in any case; osascript writes its errors in the locale's encoding. */
const LOCALE = { LANG: 'en_US.UTF-8' };

/**
 * The whole environment of a run: nothing of our own is handed on. HOME is not needed, Foundation asks the user
 * database for the home folder; the session that Apple Events need is inherited through Mach, not from here.
 */
function environment(part: SendPart): Record<string, string> {
  return {
    ...LOCALE,
    POSTERN_RECIPIENT: part.recipient,
    POSTERN_CHAT_IDS: part.chatIds.join('\n'),
    POSTERN_SERVICE: part.service,
    ...('body' in part.content ? { POSTERN_BODY: part.content.body } : { POSTERN_ATTACHMENT: part.content.attachment }),
  };
}

function outcome(ended: Ended): RunOutcome {
  if (ended.startError !== undefined) return { kind: 'not_started', message: ended.startError };
  if (ended.exitCode === 0) return { kind: 'done' };
  if (ended.exitCode === null) return { kind: 'killed' };
  return { kind: 'failed', number: scriptErrorNumber(ended.stderr), message: lastLine(ended.stderr) };
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

/** How a child ended: `startError` when it never ran, `exitCode` null when a signal ended it. */
interface Ended {
  readonly startError?: string;
  readonly exitCode: number | null;
  readonly stderr: string;
}

/** Runs a program in a process group of its own; at the time limit, or when told to, the whole group is killed. */
function runBounded(
  path: string,
  args: readonly string[],
  env: Record<string, string>,
  limitMs: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Ended> {
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawn(path, args, { env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    } catch (error) {
      // NUL in a value, or too much of everything: refused before there is a process.
      resolve({ startError: errorCode(error) ?? 'cannot be started', exitCode: null, stderr: '' });
      return;
    }
    let stderr = Buffer.alloc(0);
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = Buffer.concat([stderr, chunk]).subarray(-STDERR_KEPT_BYTES);
    });
    const kill = () => killGroup(child);
    const cancelLimit = clock.after(limitMs, kill);
    signal?.addEventListener('abort', kill);
    if (signal?.aborted) kill();
    const end = (ended: Ended) => {
      cancelLimit();
      signal?.removeEventListener('abort', kill);
      resolve(ended);
    };
    child.once('error', (error) =>
      end({ startError: errorCode(error) ?? 'cannot be started', exitCode: null, stderr: '' }),
    );
    // The run is over with the program itself; what it left running may hold the pipe, but not the next send.
    child.once('exit', () => {
      const cancelDrain = clock.after(DRAIN_MS, kill);
      child.once('close', cancelDrain);
    });
    child.once('close', (exitCode) => end({ exitCode, stderr: stderr.toString('utf8') }));
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    // ESRCH: it ended by itself in this moment.
    if (errorCode(error) !== 'ESRCH') child.kill('SIGKILL');
  }
  // A grandchild that left the group could hold the pipe open; 'close' must come all the same.
  child.stderr?.destroy();
}

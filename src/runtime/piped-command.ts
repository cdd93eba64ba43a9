import { spawn } from 'node:child_process';

/** The end of a program: its exit code, or the signal or error (`ENOENT`, …) that replaced it. */
export type PipedEnd = { readonly code: number } | { readonly code: null; readonly reason: string };

/** Runs a program with `input` on its stdin. Its output goes where ours goes. Does not throw. */
export function pipeTo(
  command: string,
  args: readonly string[],
  { env, input }: { readonly env: Readonly<Record<string, string | undefined>>; readonly input: string },
): Promise<PipedEnd> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ['pipe', 'inherit', 'inherit'] });
    child.once('error', (error: NodeJS.ErrnoException) => resolve({ code: null, reason: error.code ?? error.message }));
    child.once('close', (code, signal) => resolve(code === null ? { code, reason: signal ?? 'a signal' } : { code }));
    // The program need not read its stdin.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

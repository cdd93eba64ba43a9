import { spawn } from 'node:child_process';

/** How a program ended: its exit code, or the signal or the error (`ENOENT`, …) in its place. */
export type PipedEnd = { readonly code: number } | { readonly code: null; readonly reason: string };

/** Runs a program with `input` on its stdin. What it prints goes where our own output goes. Does not throw. */
export function pipeTo(
  command: string,
  args: readonly string[],
  { env, input }: { readonly env: Readonly<Record<string, string | undefined>>; readonly input: string },
): Promise<PipedEnd> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ['pipe', 'inherit', 'inherit'] });
    child.once('error', (error: NodeJS.ErrnoException) => resolve({ code: null, reason: error.code ?? error.message }));
    child.once('close', (code, signal) => resolve(code === null ? { code, reason: signal ?? 'a signal' } : { code }));
    // It need not read it.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

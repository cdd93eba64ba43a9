import { spawn } from 'node:child_process';

/** Starts a program that outlives this one and prints nothing. Does not report whether it could be started. */
export function startInBackground(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  const child = spawn(command, args, { env, detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}

import { readFileSync } from 'node:fs';
import type { RunCommand } from '../../../core/runtime/command.ts';

/**
 * Returns the id of this machine's hardware (IOPlatformUUID), so that a copy of the disk in another machine has another
 * id. Without ioreg, returns the id of the Linux installation (/etc/machine-id), or undefined if that is missing too.
 */
export async function machineId(run: RunCommand): Promise<string | undefined> {
  const { stdout } = await run('ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice']).catch(() => ({ stdout: '' }));
  return /"IOPlatformUUID" = "([\w-]+)"/.exec(stdout)?.[1] ?? installationId();
}

function installationId(): string | undefined {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

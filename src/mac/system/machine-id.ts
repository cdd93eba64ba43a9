import { readFileSync } from 'node:fs';
import type { RunCommand } from '../../runtime/command.ts';

/**
 * Returns the id of this machine's hardware (IOPlatformUUID), which a copy of the disk does not take along to another
 * machine. Without ioreg, returns the id of the Linux installation (/etc/machine-id). Returns undefined if the machine
 * has neither.
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

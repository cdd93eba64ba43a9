import { readFileSync } from 'node:fs';
import type { RunCommand } from '../../runtime/command.ts';

/**
 * Returns the id of this machine's hardware (IOPlatformUUID), which a copy of its disk does not contain. Without ioreg,
 * returns the id of the installation (/etc/machine-id); undefined if the machine has neither.
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

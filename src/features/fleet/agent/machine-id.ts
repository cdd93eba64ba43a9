import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RunCommand } from '../../../core/runtime/command.ts';

/**
 * Returns a name made from the id of this machine's hardware (IOPlatformUUID), so that a copy of the disk in another
 * machine has another name. Without ioreg, uses the id of the Linux installation; undefined if that is missing too.
 */
export async function machineOfHardware(member: string, run: RunCommand): Promise<string | undefined> {
  const { stdout } = await run('ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice']);
  const id = /"IOPlatformUUID" = "([\w-]+)"/.exec(stdout)?.[1] ?? installationId();
  return id && createHash('sha256').update(`postern machine ${member} ${id}`).digest('hex').slice(0, 8);
}

function installationId(): string | undefined {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

import { readFileSync } from 'node:fs';
import type { RunCommand } from '../../runtime/command.ts';

/**
 * Returns the id of this machine's hardware (IOPlatformUUID), which no copy of its disk takes along; where there is no
 * ioreg, that of the installation (/etc/machine-id). Undefined if it has neither.
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

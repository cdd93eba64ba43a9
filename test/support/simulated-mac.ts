import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type MacOptions, SimulatedMac } from '../../src/features/simulator/mac.ts';
import { waitFor } from './eventually.ts';
import { whenFileEnds } from './temporary.ts';

/** Starts a simulated Mac in a new folder; its Messages is a real process of the compiled simulator. */
export async function simulatedMac(
  options: Partial<MacOptions> = {},
): Promise<SimulatedMac & { dispose(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-mac-'));
  const moduleFolder = fileURLToPath(new URL('../../dist/src/features/simulator/', import.meta.url));
  const mac = new SimulatedMac({ dir, moduleFolder, ...options });
  const dispose = async (): Promise<void> => {
    await mac.kill();
    await waitFor(() => !hasOsascript(dir));
    rmSync(dir, { recursive: true, force: true });
  };
  whenFileEnds(dispose);
  await mac.start();
  return Object.assign(mac, { dispose });
}

/**
 * Reports whether an osascript of this Mac is still running. If its service was killed, it ends a moment after Messages
 * does. Linux only.
 */
function hasOsascript(dir: string): boolean {
  if (process.platform !== 'linux') return false;
  return readdirSync('/proc').some((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.includes('osascript.js') && command.includes(dir);
    } catch {
      return false; // there is no such process, or it has just ended
    }
  });
}

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type MacOptions, SimulatedMac } from '../../src/simulator/mac.ts';
import { waitFor } from './eventually.ts';
import { whenFileEnds } from './temporary.ts';

/** A simulated Mac in a folder of its own, its Messages a real process of the compiled simulator. */
export async function simulatedMac(
  options: Partial<MacOptions> = {},
): Promise<SimulatedMac & { dispose(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-mac-'));
  const moduleFolder = fileURLToPath(new URL('../../dist/src/simulator/', import.meta.url));
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
 * Reports whether an osascript of this Mac is still running. One whose service was killed ends by itself once Messages
 * has, which takes a moment. Linux only.
 */
function hasOsascript(dir: string): boolean {
  if (process.platform !== 'linux') return false;
  return readdirSync('/proc').some((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.includes('osascript.js') && command.includes(dir);
    } catch {
      return false; // no process, or it ended meanwhile
    }
  });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type MacOptions, SimulatedMac } from '../../src/simulator/mac.ts';

/** A simulated Mac in a folder of its own, its Messages a real process of the compiled simulator. */
export async function simulatedMac(
  options: Partial<MacOptions> = {},
): Promise<SimulatedMac & { dispose(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'postern-mac-'));
  const moduleFolder = fileURLToPath(new URL('../../dist/src/simulator/', import.meta.url));
  const mac = new SimulatedMac({ dir, moduleFolder, ...options });
  await mac.start();
  return Object.assign(mac, {
    async dispose() {
      await mac.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  });
}

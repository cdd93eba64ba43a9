import type { RunCommand } from '../src/core/runtime/command.ts';

/**
 * Returns where System Settings has the switch of a background program, in the words of this macOS (Apple's deployment
 * guide, "Manage login items and background tasks").
 */
export async function backgroundSwitch(run: RunCommand): Promise<string> {
  const { stdout } = await run('sw_vers', ['-productVersion']);
  const version = Number.parseInt(stdout, 10);
  if (version < 15) return 'General > Login Items, under Allow in the Background';
  if (version < 26) return 'General > Login Items & Extensions, under Allow in the Background';
  if (version >= 26) return 'General > Login Items & Extensions, under App Background Activity';
  return 'General > Login Items & Extensions';
}

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '../../../core/mac/sandbox.ts';
import { found, type Observation, observe, type ReportedValue } from './observation.ts';
import type { ProbeContext } from './probes.ts';
import { oneOf } from './redact.ts';
import { PICTURE } from './send-to-me.ts';

/** Extended attributes that macOS gives to apps. */
const XATTRS = [
  'com.apple.quarantine',
  'com.apple.provenance',
  'com.apple.macl',
  'com.apple.FinderInfo',
  'com.apple.lastuseddate#PS',
] as const;
/** Every macOS has this sound. */
const SOUND = '/System/Library/Sounds/Ping.aiff';
const CONVERSION_LIMIT_MS = 60_000;

/** Reports the mode of the service's socket and the length of its path. macOS allows a path of at most 103 bytes. */
export function socket({ layout }: ProbeContext): Observation {
  const path = join(layout.support, 'postern.sock');
  const mode = (statSync(path).mode & 0o777).toString(8);
  return found({ bytes: Buffer.byteLength(path), limit: 103, mode });
}

export function appXattrs({ machine, layout }: ProbeContext): Promise<Observation> {
  return observe({ run: machine.run, command: 'xattr', args: [layout.app] }, ({ stdout }) => ({
    names: stdout
      .split('\n')
      .filter(Boolean)
      .map((name) => oneOf(XATTRS, name.trim()) ?? 'other'),
  }));
}

/**
 * Counts how often this Mac woke up today. If the log is very long, `run` keeps only its end, and earlier wakes are not
 * counted.
 */
export function sleep({ machine }: ProbeContext): Promise<Observation> {
  const now = new Date(machine.clock.now());
  const two = (value: number): string => String(value).padStart(2, '0');
  const today = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  return observe({ run: machine.run, command: 'pmset', args: ['-g', 'log'] }, ({ stdout }) => ({
    wakes: stdout.split('\n').filter((line) => line.startsWith(today) && /\s(?:Dark)?Wake\s/.test(line)).length,
  }));
}

/** Tries Apple's converters on a generated picture and a system sound, with the conversions that attachments need. */
export async function conversions(context: ProbeContext): Promise<Observation> {
  const { machine } = context;
  const folder = mkdtempSync(join(machine.temporaryFolder, 'postern-report-'));
  const at = (name: string): string => join(folder, name);
  const made = async (command: string, args: readonly string[], output: string): Promise<ReportedValue> => {
    const call = { run: machine.run, command, args, timeoutMs: CONVERSION_LIMIT_MS };
    return observe(call, () => ({ bytes: statSync(output, { throwIfNoEntry: false })?.size ?? 0 }));
  };
  try {
    writeFileSync(at('a.png'), PICTURE);
    const heic = await made('sips', ['-s', 'format', 'heic', at('a.png'), '--out', at('a.heic')], at('a.heic'));
    const jpeg = await made('sips', ['-s', 'format', 'jpeg', at('a.heic'), '--out', at('a.jpg')], at('a.jpg'));
    const caf = await made('afconvert', ['-f', 'caff', '-d', 'ima4', SOUND, at('a.caf')], at('a.caf'));
    const m4a = await made('afconvert', ['-f', 'm4af', '-d', 'aac', at('a.caf'), at('a.m4a')], at('a.m4a'));
    return found({ heic, jpeg, caf, m4a, ...(await inSandbox(context, folder)) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Reports whether the converters work in the sandbox that attachments are converted in, and what it keeps from them.
 */
async function inSandbox({ machine, layout }: ProbeContext, folder: string): Promise<Record<string, ReportedValue>> {
  const sandbox = new Sandbox({ toolFolder: '/usr/bin', homeFolder: machine.home, log: { warn() {} } });
  const runs = async (tool: string, args: readonly string[]): Promise<boolean> => {
    const { program, first } = await sandbox.start(tool, folder, () => Promise.resolve(true));
    const { code } = await machine.run(program, [...first, ...args], { timeoutMs: CONVERSION_LIMIT_MS });
    return code === 0;
  };
  const at = (name: string): string => join(folder, name);
  return {
    picture_in_sandbox: await runs('sips', ['-s', 'format', 'jpeg', at('a.png'), '--out', at('b.jpg')]),
    sound_in_sandbox: await runs('afconvert', ['-f', 'm4af', '-d', 'aac', at('a.caf'), at('b.m4a')]),
    // The app's icon is in the home folder, where the sandbox must read nothing.
    home_in_sandbox: await runs('sips', [
      '-g',
      'pixelWidth',
      join(layout.app, 'Contents', 'Resources', 'Postern.icns'),
    ]),
  };
}

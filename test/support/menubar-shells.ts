import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** A shell, and the awk that is first on the PATH of its script. */
export interface MenubarShell {
  readonly command: readonly [string, ...string[]];
  readonly awk: string;
}

/**
 * macOS has bash 3.2 in POSIX mode as /bin/sh, and the original awk, which Debian calls original-awk. Debian has no
 * bash 3.2; mksh and dash support as little beyond POSIX.
 */
const SHELLS: readonly MenubarShell[] = [
  { command: ['/bin/sh'], awk: 'awk' },
  { command: ['/bin/sh'], awk: 'original-awk' },
  { command: ['bash', '--posix'], awk: 'original-awk' },
  { command: ['mksh'], awk: 'original-awk' },
  { command: ['dash'], awk: 'original-awk' },
  // busybox acts as awk when called by that name.
  { command: ['busybox', 'sh'], awk: 'busybox' },
];

/** Returns the name and shell of every combination, and the missing program for those that are not on this machine. */
export function menubarShells(): {
  readonly present: readonly (readonly [string, MenubarShell])[];
  readonly missing: readonly (readonly [string, string])[];
} {
  const named = SHELLS.map((shell) => [`${shell.command.join(' ')} with ${shell.awk}`, shell] as const);
  const lackedBy = ({ command, awk }: MenubarShell): string | undefined =>
    [command[0], awk].find((name) => !pathOf(name));
  return {
    present: named.filter(([, shell]) => lackedBy(shell) === undefined),
    missing: named.flatMap(([name, shell]) => {
      const program = lackedBy(shell);
      return program === undefined ? [] : [[name, program] as const];
    }),
  };
}

/** Returns a folder in which `awk` is this shell's, and creates it below `parent` if necessary. */
export function awkFolder(parent: string, { awk }: MenubarShell): string {
  const folder = join(parent, `of-${awk}`);
  if (mkdirSync(folder, { recursive: true }) !== undefined) symlinkSync(pathOf(awk), join(folder, 'awk'));
  return folder;
}

function pathOf(program: string): string {
  return spawnSync('/bin/sh', ['-c', 'command -v "$0"', program], { encoding: 'utf8' }).stdout.trim();
}

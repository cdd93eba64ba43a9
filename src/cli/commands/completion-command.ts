import { readFileSync } from 'node:fs';
import type { Context } from '../context.ts';

/**
 * The file of each shell's completion script. `make install` links it into the folder in which that shell looks for it.
 */
const FILES = { zsh: '_postern', bash: 'postern.bash', fish: 'postern.fish' } as const;

/** `postern completion SHELL`: prints the shell's script. */
export async function completion(shell: string, _options: object, { stdout }: Context): Promise<void> {
  const file = FILES[shell as keyof typeof FILES];
  stdout(readFileSync(new URL(`../completions/${file}`, import.meta.url), 'utf8').trimEnd());
}

import { readFileSync } from 'node:fs';
import type { Context } from '../../core/cli/context.ts';

/**
 * The files of the completion scripts. Key: the shell. `make install` links each file into the folder that its shell
 * searches.
 */
const FILES = { zsh: '_postern', bash: 'postern.bash', fish: 'postern.fish' } as const;

/** `postern completion SHELL`: prints the shell's script. */
export async function completion(shell: string, _options: object, { stdout }: Context): Promise<void> {
  const file = FILES[shell as keyof typeof FILES];
  stdout(readFileSync(new URL(`./completions/${file}`, import.meta.url), 'utf8').trimEnd());
}

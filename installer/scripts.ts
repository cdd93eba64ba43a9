import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AppError } from '../src/domain/errors.ts';
import type { CommandResult } from '../src/runtime/command.ts';
import type { Machine } from './machine.ts';

/**
 * Compiles every AppleScript of a version with this macOS and its Messages dictionary. Compiling sends no event and
 * asks for no permission, and it is the only proof before the first send that the scripts are valid.
 */
export async function checkScripts(machine: Machine, folder: string): Promise<void> {
  const scripts = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.applescript'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const output = mkdtempSync(join(machine.temporaryFolder, 'postern-scripts-'));
  try {
    for (const [index, script] of scripts.entries()) {
      const result = await machine.run('osacompile', ['-o', join(output, `${index}.scpt`), script]);
      if (result.code !== 0) throw refusal(script, result);
    }
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
  machine.stdout(`This macOS understands all ${scripts.length} scripts that drive Messages.`);
}

function refusal(script: string, { stderr, trouble }: CommandResult): AppError {
  // osacompile writes `path:LINE: error: words (-2741)`.
  const [, line, words] = /:(\d+): error: (.+)/.exec(stderr) ?? [];
  const reason = trouble === 'missing' ? 'there is no osacompile.' : (words ?? stderr.trim());
  const text =
    line === undefined
      ? undefined
      : readFileSync(script, 'utf8')
          .split(/\r\n|\r|\n/)
          [Number(line) - 1]?.trim();
  const place = `${basename(script)}${line === undefined ? '' : `, line ${line}`}`;
  const message = `This macOS does not compile ${place}: ${reason}${text === undefined ? '' : `\n  ${text}`}`;
  return new AppError('script_refused', message, {
    hint: 'Nothing was changed. Please report this with the text above and the output of: sw_vers',
  });
}

import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../model/ports/host-ports.ts';

/** A converter and how it is started: `first` are the arguments before its own. */
export interface ConverterStart {
  readonly program: string;
  readonly first: readonly string[];
}

export interface SandboxParts {
  /** Folder of `sandbox-exec` and of the converters. */
  readonly toolFolder: string;
  readonly homeFolder: string;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Starts Apple's converters without network, Apple events, other programs and the user's files. They decode what
 * strangers sent, and macOS counts them as part of Postern: a hole in them would have its Full Disk Access and its
 * right to control Messages.
 */
export class Sandbox {
  readonly #parts: SandboxParts;
  /** The converters that have been tried: true if they work in the sandbox, false if only without it. */
  readonly #works = new Map<string, boolean>();

  constructor(parts: SandboxParts) {
    this.#parts = parts;
  }

  /**
   * Returns how to start a converter that reads and writes files in `folder`. The first call lets `converts` try it on
   * a sample of Postern's own. If it works only outside of the sandbox, logs a warning, and it runs there from then on.
   * A converter's result on anybody's file never decides this, because a hole in it could pretend to have failed.
   */
  async start(
    tool: string,
    folder: string,
    converts: (start: ConverterStart) => Promise<boolean>,
  ): Promise<ConverterStart> {
    const { toolFolder, log } = this.#parts;
    const plain = { program: join(toolFolder, tool), first: [] };
    const inside = await this.#inside(plain.program, folder);
    if (!this.#works.has(tool)) {
      if (await converts(inside)) this.#works.set(tool, true);
      else if (await converts(plain)) {
        this.#works.set(tool, false);
        log.warn(UNPROTECTED, { tool });
      }
    }
    return this.#works.get(tool) === false ? plain : inside;
  }

  /** Passes every path as a parameter, so that no character in a path can become part of the profile. */
  async #inside(program: string, folder: string): Promise<ConverterStart> {
    const { toolFolder, homeFolder } = this.#parts;
    // The sandbox compares paths without symbolic links.
    const work = await resolved(folder);
    const above = foldersAbove(work);
    const parameters = { HOME: await resolved(homeFolder), WORK: work, TOOL: await resolved(program), ...above };
    const defined = Object.entries(parameters).flatMap(([name, path]) => ['-D', `${name}=${path}`]);
    return {
      program: join(toolFolder, 'sandbox-exec'),
      first: ['-p', profile(Object.keys(above)), ...defined, program],
    };
  }
}

export const UNPROTECTED =
  'Attachments are converted without a sandbox, because sandbox-exec is missing or does not run the converter. A hole in it would have the permissions of Postern.';

/** The last matching rule decides. A converter needs the attributes of the folders above its own, to resolve paths. */
function profile(above: readonly string[]): string {
  const parameter = (name: string): string => `(param "${name}")`;
  return [
    '(version 1)',
    '(allow default)',
    '(deny network*)',
    '(deny appleevent-send)',
    '(deny lsopen)',
    '(deny job-creation)',
    `(deny process-exec (require-not (literal ${parameter('TOOL')})))`,
    `(deny file-read* file-write* (subpath ${parameter('HOME')}) (subpath "/Volumes"))`,
    `(allow file-read-metadata ${above.map((name) => `(literal ${parameter(name)})`).join(' ')})`,
    `(allow file-read* file-write* (subpath ${parameter('WORK')}))`,
  ].join(' ');
}

function foldersAbove(folder: string): Readonly<Record<string, string>> {
  const above: Record<string, string> = {};
  for (let path = dirname(folder), number = 1; ; path = dirname(path), number += 1) {
    above[`ABOVE_${number}`] = path;
    if (path === dirname(path)) return above;
  }
}

/** Returns the path without symbolic links; unchanged if nothing is there. */
function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

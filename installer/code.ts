import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../src/core/model/errors.ts';
import { runtimeOf } from './app-bundle.ts';
import type { Layout } from './install-layout.ts';
import { installLine } from './install-line.ts';
import { hasCompiler, installLibraries, lastLines } from './libraries.ts';
import type { Machine } from './machine.ts';
import { buildFolder } from './staging.ts';

/**
 * The files and folders that are copied from the built project. Its dependencies are not copied: `installLibraries`
 * installs them with the private Node.
 */
const PARTS = ['dist', 'package.json', 'package-lock.json', '.npmrc', 'launchd', join('installer', 'menubar')];
/** The file of a version folder that has the hash over all other files, and the kind of the libraries. */
const SEAL = '.seal';
const PROOF_LIMIT_MS = 60_000;

/**
 * Copies the code into a version folder and proves that it loads. Returns the folder's name. Keeps a folder of the same
 * code, unless a file in it was changed or lost, or a compiler can now build its native libraries. Does not switch to
 * the new version.
 */
export async function installCode(machine: Machine, layout: Layout, root: string, version: string): Promise<string> {
  const missing = PARTS.find((part) => !existsSync(join(root, part)));
  if (missing !== undefined) {
    throw new AppError('not_built', `${join(root, missing)} is missing.`, { hint: `Run: ${installLine()}` });
  }
  const abi = (await runtimeOf(machine, layout.executable))?.abi ?? 'unknown';
  const id = `${version}-${fingerprint(root, PARTS)}-node${abi}`;
  const folder = join(layout.versions, id);
  const isCompiling = await hasCompiler(machine);
  if (isWhole(folder, isCompiling)) return id;

  await buildFolder(folder, async (staging) => {
    for (const part of PARTS) cpSync(join(root, part), join(staging, part), { recursive: true });
    await installLibraries(machine, layout, staging, isCompiling);
    await prove(machine, layout, staging);
    writeFileSync(join(staging, SEAL), sealOf(staging, isCompiling));
  });
  return id;
}

/**
 * Runs the new version's proof.js on the private Node, to prove that the libraries in `folder` load. Throws
 * `proof_failed`.
 */
async function prove(machine: Machine, layout: Layout, folder: string): Promise<void> {
  const proof = await machine.run(layout.executable, [join(folder, 'dist', 'installer', 'proof.js')], {
    cwd: folder,
    timeoutMs: PROOF_LIMIT_MS,
  });
  if (proof.code !== 0) {
    throw new AppError('proof_failed', `The new version does not load: ${lastLines(proof.stderr)}`, {
      hint: 'The new version was not installed. If an older one was running, it still is.',
    });
  }
  for (const line of proof.stdout.trim().split('\n').filter(Boolean)) machine.stdout(`  ${line}`);
}

/** Reports whether the folder is as it was built, with native libraries if they can be built. */
function isWhole(folder: string, isCompiling: boolean): boolean {
  if (!existsSync(join(folder, SEAL))) return false;
  const seal = readFileSync(join(folder, SEAL), 'utf8');
  return seal === sealOf(folder, true) || (!isCompiling && seal === sealOf(folder, false));
}

function sealOf(folder: string, isNative: boolean): string {
  const parts = readdirSync(folder).filter((name) => name !== SEAL);
  return `${fingerprint(folder, parts.sort())} ${isNative ? 'native' : 'plain'}\n`;
}

/** Returns the first 12 hex digits of a hash over the files in `parts`, which are files and folders of `root`. */
function fingerprint(root: string, parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    const path = join(root, part);
    const files = statSync(path).isFile()
      ? [path]
      : readdirSync(path, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name));
    for (const file of files.sort()) {
      const content = readFileSync(file);
      hash.update(`${file.slice(root.length)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex').slice(0, 12);
}

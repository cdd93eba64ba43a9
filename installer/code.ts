import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { AppError } from '../src/domain/errors.ts';
import { runtimeOf } from './app-bundle.ts';
import type { Layout } from './layout.ts';
import type { Machine } from './machine.ts';
import { buildFolder } from './staging.ts';

/** What of the built project is installed; dependencies are installed anew, for the private Node. */
const PARTS = ['dist', 'package.json', 'package-lock.json', 'launchd', join('installer', 'menubar')];
const INSTALL_LIMIT_MS = 15 * 60_000;
const PROOF_LIMIT_MS = 60_000;

/** Puts the code into a folder of its own and proves that it loads. Returns the folder's name; nothing is switched yet. */
export async function installCode(machine: Machine, layout: Layout, root: string, version: string): Promise<string> {
  const missing = PARTS.find((part) => !existsSync(join(root, part)));
  if (missing !== undefined) {
    throw new AppError('invalid', 'not_built', `${join(root, missing)} is missing.`, { hint: 'Run: make install' });
  }
  const abi = (await runtimeOf(machine, layout.executable))?.abi ?? 'unknown';
  const id = `${version}-${fingerprint(root)}-node${abi}`;
  const folder = join(layout.versions, id);
  if (existsSync(folder)) return id;

  await buildFolder(folder, async (staging) => {
    for (const part of PARTS) cpSync(join(root, part), join(staging, part), { recursive: true });
    machine.say('Installing the libraries with that very Node, so that native modules fit it. This may take a minute.');
    await installLibraries(machine, layout, staging);
    await prove(machine, layout, staging);
  });
  return id;
}

async function installLibraries(machine: Machine, layout: Layout, folder: string): Promise<void> {
  // A program called `node`, first on PATH, is what npm and the builds it starts run on.
  const programs = join(folder, '.programs');
  mkdirSync(programs);
  symlinkSync(layout.executable, join(programs, 'node'));
  const script = npmScript(machine.path);
  const args = ['ci', '--omit=dev', '--no-audit', '--no-fund'];
  const [command, rest] = script === undefined ? ['npm', args] : [layout.executable, [script, ...args]];
  const result = await machine.run(command, rest, {
    cwd: folder,
    timeoutMs: INSTALL_LIMIT_MS,
    env: { PATH: [programs, ...machine.path].join(delimiter) },
  });
  if (result.code !== 0) {
    const isDiskFull = /ENOSPC|no space left/i.test(result.stderr);
    throw new AppError('unavailable', isDiskFull ? 'disk_full' : 'libraries_failed', tail(result.stderr), {
      hint: isDiskFull
        ? 'The disk is full. Nothing was changed: make room (about 500 MB) and run the installation again.'
        : 'npm could not install the libraries; nothing was changed. With a network and, for native modules without a ready-made build, `xcode-select --install`, try again.',
    });
  }
  rmSync(programs, { recursive: true });
  removeSourceMaps(join(folder, 'node_modules'));
}

/** What only a debugger reads, some 10 MB of it. Never through a link: what is linked is somebody else's. */
function removeSourceMaps(modules: string): void {
  if (!lstatSync(modules).isDirectory()) return;
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith('.map')) rmSync(join(entry.parentPath, entry.name));
  }
}

/** npm's own script, when the `npm` on PATH is a link to it: version managers put a program of their own there. */
function npmScript(path: readonly string[]): string | undefined {
  const npm = path.map((folder) => join(folder, 'npm')).find((candidate) => existsSync(candidate));
  if (npm === undefined) return undefined;
  const script = realpathSync(npm);
  return basename(script) === 'npm-cli.js' ? script : undefined;
}

/** Loads every library once, on the private Node, before anything relies on it. */
async function prove(machine: Machine, layout: Layout, folder: string): Promise<void> {
  const proof = await machine.run(layout.executable, [join(folder, 'dist', 'installer', 'proof.js')], {
    cwd: folder,
    timeoutMs: PROOF_LIMIT_MS,
  });
  if (proof.code !== 0) {
    throw new AppError('unavailable', 'proof_failed', `The new version does not load: ${tail(proof.stderr)}`, {
      hint: 'Nothing was switched over; what ran before still runs.',
    });
  }
  for (const line of proof.stdout.trim().split('\n').filter(Boolean)) machine.say(`  ${line}`);
}

function tail(text: string): string {
  return text.trim().split('\n').slice(-5).join('\n  ') || 'it said nothing.';
}

/** Changes with every byte of what would be installed. */
function fingerprint(root: string): string {
  const hash = createHash('sha256');
  for (const part of PARTS) {
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

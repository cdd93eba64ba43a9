import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { linkShellFiles, unlinkShellFiles } from '../../installer/shell-files.ts';
import { macFindings } from '../../src/features/doctor/cli/mac-findings.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const startMac = closedAfterEach(() => StandInMac.start());

/** Creates a Mac with the command that make install writes; its folder of programs is on the PATH or not. */
async function newMac(isOnPath: boolean) {
  const mac = await startMac();
  mkdirSync(mac.layout.support, { recursive: true });
  writeFileSync(mac.layout.command, '#!/bin/sh\n');
  const prefix = join(mac.folder, 'homebrew');
  mkdirSync(join(prefix, 'bin'), { recursive: true });
  const machine = mac.machine();
  return { mac, prefix, machine: isOnPath ? { ...machine, path: [join(prefix, 'bin'), ...machine.path] } : machine };
}

const FILES = [
  'bin/postern',
  'share/bash-completion/completions/postern',
  'share/fish/vendor_completions.d/postern.fish',
  'share/man/man1/postern.1',
  'share/zsh/site-functions/_postern',
];

const linksIn = (folder: string): readonly string[] =>
  (readdirSync(folder, { recursive: true }) as string[])
    .filter((path) => lstatSync(join(folder, path)).isSymbolicLink())
    .sort();

test('postern is on the PATH after an installation, with its manual and completions, and gone after it was removed', async () => {
  const { mac, prefix, machine } = await newMac(true);
  for (const _ of [1, 2]) linkShellFiles(machine, mac.layout);
  expect(linksIn(prefix)).toEqual(FILES);
  expect(readlinkSync(join(prefix, 'bin/postern'))).toBe(mac.layout.command);
  expect(readlinkSync(join(prefix, 'share/man/man1/postern.1'))).toBe(join(mac.layout.current, 'dist/postern.1'));
  expect(mac.said.at(-1)).toBe(`The command: postern (${join(prefix, 'bin/postern')})`);
  expect((await macFindings(machine)).find(({ name }) => name === 'command')).toMatchObject({ state: 'ok' });
  expect(unlinkShellFiles(machine, mac.layout)).toEqual([]);
  expect(linksIn(prefix)).toEqual([]);
  expect(existsSync(join(prefix, 'bin'))).toBe(true);
});

test('without a writable folder on the PATH, the installation prints the line for the shell, and removal leaves no link', async () => {
  const { mac, machine } = await newMac(false);
  linkShellFiles(machine, mac.layout);
  expect(linksIn(join(mac.home, '.local'))).toEqual(FILES);
  const said = mac.said.join('\n');
  expect(said).toContain('export PATH="$HOME/.local/bin:$PATH"');
  expect(said).toContain('fpath=("$HOME/.local/share/zsh/site-functions" $fpath)');
  const found = (await macFindings(machine)).find(({ name }) => name === 'command');
  expect(found).toMatchObject({ state: 'warning', what_to_do: expect.stringContaining('export PATH=') });
  unlinkShellFiles(machine, mac.layout);
  expect(existsSync(join(mac.home, '.local'))).toBe(false);
});

test('the line for the shell names a chosen folder as it is', async () => {
  const { mac, prefix, machine } = await newMac(false);
  const own = [join(mac.home, 'my tools'), join(prefix, '.local')];
  for (const chosen of own) linkShellFiles({ ...machine, prefixes: [chosen] }, mac.layout);
  const said = mac.said.join('\n');
  expect(said).toContain('export PATH="$HOME/my tools/bin:$PATH"');
  expect(said).toContain('fpath=("$HOME/my tools/share/zsh/site-functions" $fpath)');
  expect(said).toContain(`export PATH="${prefix}/.local/bin:$PATH"`);
});

test('a postern that npm installed is recognized and stays, and its owner learns how to bring it together with the agent', async () => {
  const { mac, prefix, machine } = await newMac(true);
  // Links as npm makes them (npm 10, with the prefix of Homebrew's Node).
  const root = join(prefix, 'lib/node_modules/postern');
  mkdirSync(join(root, 'project/dist'), { recursive: true });
  writeFileSync(join(root, 'package.json'), JSON.stringify({ name: 'postern', version: '0.2.0' }));
  for (const file of ['main.js', 'postern.1']) writeFileSync(join(root, 'project/dist', file), 'npm', { mode: 0o755 });
  mkdirSync(join(prefix, 'share/man/man1'), { recursive: true });
  symlinkSync('../lib/node_modules/postern/project/dist/main.js', join(prefix, 'bin/postern'));
  const page = join(prefix, 'share/man/man1/postern.1');
  symlinkSync('../../../lib/node_modules/postern/project/dist/postern.1', page);

  linkShellFiles(machine, mac.layout);
  const said = mac.said.join('\n');
  expect(said).not.toContain('is not Postern');
  expect(said).not.toContain('make install');
  expect(said).toContain('After each `npm install -g`, run: postern install');
  expect([readFileSync(join(prefix, 'bin/postern'), 'utf8'), readFileSync(page, 'utf8')]).toEqual(['npm', 'npm']);

  const command = async () => (await macFindings(machine)).find(({ name }) => name === 'command');
  mkdirSync(mac.layout.versions, { recursive: true });
  symlinkSync('versions/0.1.0-a1b2c3-node127', mac.layout.current);
  expect(await command()).toMatchObject({ state: 'warning', what_to_do: 'Run: postern install' });
  unlinkSync(mac.layout.current);
  symlinkSync('versions/0.2.0-a1b2c3-node127', mac.layout.current);
  expect(await command()).toMatchObject({ state: 'ok' });
  unlinkShellFiles(machine, mac.layout);
  expect(existsSync(page)).toBe(true);
});

test('a postern of another origin stays, at installation and at removal', async () => {
  const { mac, prefix, machine } = await newMac(true);
  writeFileSync(join(prefix, 'bin/postern'), 'another', { mode: 0o755 });
  linkShellFiles(machine, mac.layout);
  expect(mac.said.join('\n')).toContain(`Postern did not make ${join(prefix, 'bin/postern')}`);
  unlinkShellFiles(machine, mac.layout);
  expect(readFileSync(join(prefix, 'bin/postern'), 'utf8')).toBe('another');
});

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { WrittenContents } from '../../src/features/simulator/row-commands.ts';
import { chainsOf, linesOf } from '../support/archive-fixture.ts';
import { testIf } from '../support/conditions.ts';
import { contentVectors } from '../support/content-vectors.ts';
import { waitFor } from '../support/eventually.ts';
import { postern } from '../support/postern.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const root = temporaryFolder();
const config = join(root, 'config');
const out = join(root, 'archive');
const has = (tool: string): boolean => spawnSync(tool, ['-version']).error === undefined;

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let rows: WrittenContents;

beforeAll(async () => {
  mac = await simulatedMac();
  rows = await mac.command<WrittenContents>({ do: 'contents', from: ANA });
  mkdirSync(config, { mode: 0o700 });
  const { chatDbPath, osascriptPath } = mac;
  writeFileSync(
    join(config, 'config.toml'),
    `[auth]\napi_key = "0123456789abcdef"\n[backend]\nchat_db_path = "${chatDbPath}"\nosascript_path = "${osascriptPath}"\n`,
    { mode: 0o600 },
  );
});
afterAll(() => mac.dispose());

const run = (...args: string[]) => postern([...args, '--config-dir', config], { env: { HOME: root } });

test('the archive of one message of each kind says what each is, and its check finds one changed byte', async () => {
  const made = await run('export', '--out', out);
  expect(made).toMatchObject({ exitCode: 0, stderr: '' });
  const [, seal = ''] = /^Seal: ([0-9a-f]{64})$/m.exec(made.stdout) ?? [];
  expect(await postern(['export', 'verify', out])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(`Seal: ${seal}`),
  });
  const said = new Map(linesOf(out).map(({ message }) => [message?.id, message?.details?.sentence]));
  const known = contentVectors.filter(({ name, sentence }) => rows[name] !== undefined && sentence !== undefined);
  const cards = known.filter(({ kind, sentence }) => kind !== 'message' && !sentence?.startsWith('Poll'));
  expect(cards.length).toBeGreaterThan(12);
  expect(cards.map(({ name, sentence }) => [name, said.get(String(rows[name])) ?? sentence])).toEqual(
    cards.map(({ name, sentence }) => [name, sentence]),
  );
  const [path = ''] = chainsOf(out);
  const page = readdirSync(join(out, path, '..')).find((name) => name.endsWith('.html')) ?? '';
  const html = readFileSync(join(out, path, '..', page), 'utf8');
  for (const words of ['A page', 'Your move.', 'Pizza', 'I am on my way', 'named the conversation “Trip”', 'bonjour']) {
    expect(html).toContain(words);
  }
  const bytes = readFileSync(join(out, path));
  const at = bytes.indexOf('Pizza');
  bytes.write('Pasta', at);
  writeFileSync(join(out, path), bytes);
  const line = bytes.subarray(0, at).toString().split('\n').length;
  expect(await postern(['export', 'verify', out])).toMatchObject({
    exitCode: 65,
    stdout: expect.stringContaining(`${path}, line ${line}: it was changed`),
  });
});

test('a folder without --out is answered with the command that works', async () => {
  const { exitCode, stderr } = await postern(['export', 'My archive', '--demo'], { env: { HOME: temporaryFolder() } });
  expect(exitCode).toBe(64);
  expect(stderr).toMatch(/^Name the folder with --out: .* export --out 'My archive' --demo$/m);
});

test('a run says that it checks only ends, and copies a lost attachment again as the check advises', async () => {
  const folder = join(root, 'lost');
  await mac.command({ do: 'receive', from: ANA, text: '', attachment: { name: 'a.jpg', bytes: 5000 } });
  const made = await waitFor(async () => {
    const { stdout } = await run('export', '--out', folder);
    return existsSync(join(folder, 'files')) && stdout;
  });
  expect(made).toMatch(/^An export checks only the end of each file\. To check every line .*: postern export verify /m);
  rmSync(join(folder, 'files'), { recursive: true });
  expect(await postern(['export', 'verify', folder])).toMatchObject({
    exitCode: 65,
    stdout: expect.stringMatching(
      /, which is missing\.\n.*\nMove changed files out of the archive, then run postern export\. /s,
    ),
  });
  expect((await run('export', '--out', folder)).stdout).toMatch(/^Stored files that were missing and .*: [1-9]\d*\.$/m);
  expect(await postern(['export', 'verify', folder])).toMatchObject({ exitCode: 0 });
});

testIf(has('ffmpeg'), 'needs ffmpeg')('--attachments convert stores a voice message as browsers play it', async () => {
  const sound = join(root, 'a.caf');
  const source = ['-f', 'lavfi', '-i', 'sine=duration=1', '-c:a', 'pcm_s16le'];
  expect(spawnSync('ffmpeg', ['-nostdin', '-v', 'error', '-y', ...source, sound]).status).toBe(0);
  const content = readFileSync(sound);
  await mac.command({ do: 'receive', from: ANA, text: '', attachment: { name: 'Audio Message.caf', bytes: 1 } });
  const folder = join(dirname(mac.chatDbPath), 'Attachments');
  const named = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('.caf'));
  writeFileSync(join(folder, await waitFor(named)), content);
  const sounds = join(root, 'sounds');
  const made = await waitFor(async () => {
    const { stdout } = await run('export', '--out', sounds, '--attachments', 'convert');
    return /Copied 2 attachments/.test(stdout) && stdout;
  });
  expect(made).not.toContain('could not be converted');
  const [stored] = linesOf(sounds).flatMap(({ files = [] }) => files.filter((file) => 'converted' in file));
  const path = stored !== undefined && 'converted' in stored ? (stored.converted?.file ?? '') : '';
  expect(path).toMatch(/\.m4a$/);
  expect(readFileSync(join(sounds, path)).subarray(4, 12).toString()).toBe('ftypM4A ');
});

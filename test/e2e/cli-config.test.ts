import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ChatFixture } from '../support/chat-fixture.ts';
import { postern } from '../support/postern.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const fixture = new ChatFixture(join(root, 'chat.db'));
let service: Service;

beforeAll(async () => {
  service = await Service.here({ chatDbPath: fixture.path });
});
afterAll(async () => {
  await service.dispose();
  fixture.remove();
});

describe('the configuration', () => {
  test('path says where it is', async () => {
    const { stdout } = await postern(['--config-dir', service.configFolder, 'config', 'path']);
    expect(stdout).toBe(`${join(service.configFolder, 'config.toml')}\n`);
  });

  test('check says every mistake and warning, with 78 when it cannot be used', async () => {
    const folder = join(root, 'mistaken');
    mkdirSync(folder);
    const path = join(folder, 'config.toml');
    writeFileSync(path, '[server]\nport = -1\nprot = 1\n[auth]\napi_key = ""\n');
    chmodSync(path, 0o644);
    const checked = await postern(['config', 'check', '--config-dir', folder]);
    expect(checked.exitCode).toBe(78);
    for (const part of ['cannot be used', 'server.port is -1', 'auth.api_key', 'server.prot', 'chmod 600']) {
      expect(checked.stdout).toContain(part);
    }
    const usable = await postern(['--config-dir', service.configFolder, 'config', 'check', '--json']);
    expect(JSON.parse(usable.stdout)).toMatchObject({ state: 'usable', mistakes: [] });
    const said = await postern(['--config-dir', service.configFolder, 'config', 'check']);
    expect(said.stdout).toBe(`${join(service.configFolder, 'config.toml')} can be used.\n`);
    expect((await postern(['config', 'check', '--config-dir', join(root, 'none')])).exitCode).toBe(78);
  });

  test.each([
    ['serve', 78],
    ['status', 78],
    ['config check', 78],
    ['config key', 78],
    ['backup FILE', 78],
    ['fleet join', 78],
    ['fleet status', 1],
    ['fleet init', 1],
    ['doctor', 1],
  ])('%s explains that --config-dir names a file, and ends with %i', async (line, code) => {
    const file = join(root, 'file');
    writeFileSync(file, '', { mode: 0o600 });
    const args = line.replace('FILE', join(root, 'backup')).split(' ');
    const { exitCode, stdout, stderr } = await postern([...args, '--config-dir', file]);
    expect(exitCode).toBe(code);
    expect(stdout + stderr).toContain('ENOTDIR');
    expect(stderr).not.toContain('    at ');
  });

  test('a demo that is away is found out by doctor --demo, which says how to start it', async () => {
    const folder = join(root, 'postern-demo');
    mkdirSync(folder, { mode: 0o700 });
    const port = await freePort();
    writeFileSync(join(folder, 'config.toml'), `[server]\nport = ${port}\n[auth]\napi_key = "k"\n`, { mode: 0o600 });
    const place = ['--demo', '--config-dir', folder];
    expect(await postern(['status', ...place])).toMatchObject({
      exitCode: 69,
      stderr: expect.stringContaining(` doctor --demo --config-dir ${folder} finds out`),
    });
    const { exitCode, stdout } = await postern(['doctor', ...place], { env: { HOME: root } });
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`Nothing answers at ${join(folder, 'postern.sock')}.\n    Start it: postern demo\n`);
    expect(stdout).toMatch(/\d [GM]iB are free/);
  });

  test('check names commands for the same configuration, and prints nothing that controls a terminal', async () => {
    const folder = join(root, 'odd name');
    mkdirSync(folder);
    const check = ['config', 'check', '--config-dir', folder];
    expect((await postern(check)).stdout).toContain(`main.js serve --config-dir '${folder}'`);
    const toml = `auth.api_key = "short"\n"a\\u001b[2J" = 1\n`;
    writeFileSync(join(folder, 'config.toml'), toml, { mode: 0o600 });
    const { stdout } = await postern(check);
    expect(stdout).toContain(`main.js config rotate-key --config-dir '${folder}' makes a random one.`);
    expect(stdout).toContain('  a[2J is not known');
  });

  test('key is printed alone', async () => {
    const { exitCode, stdout } = await postern(['--config-dir', service.configFolder, 'config', 'key']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${KEY}\n` });
  });

  test('rotate-key counts from the next start on', async () => {
    const rotated = await postern(['config', 'rotate-key', '--config-dir', service.configFolder]);
    expect(rotated).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('until the service restarts') });
    const status = ['status', '--config-dir', service.configFolder];
    expect(await postern(status)).toMatchObject({
      exitCode: 77,
      stderr: expect.stringContaining('only when it starts'),
    });
    await service.stop();
    await service.launch();
    expect((await postern(status)).exitCode).toBe(0);
    const key = /api_key = "(.*)"/.exec(service.stateFile('config.toml').toString())?.[1] ?? '';
    expect(rotated.stdout).not.toContain(key);
  });
});

import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { postern } from '../support/postern.ts';
import { KEY, Service } from '../support/service.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const running: Service[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.dispose();
});

async function started(server: Readonly<Record<string, unknown>> = {}): Promise<Service> {
  const service = await Service.start({ chatDbPath: `${ABSENT}/chat.db`, settings: { server } });
  running.push(service);
  return service;
}

/** Exit code 69: the service answers but cannot read Messages. */
async function status(
  service: Service,
  ...options: readonly string[]
): Promise<{ exitCode: number | null; stderr: string }> {
  return postern(['status', '--config-dir', service.configFolder, ...options]);
}

const WARNING = 'there is no Unix socket';

describe('the Unix socket of a service', () => {
  test('is found by the command line, whatever port the system chose', async () => {
    const service = await started({ port: 0 });
    expect(service.port).toBeGreaterThan(0);
    expect(lstatSync(service.socketPath).mode & 0o777).toBe(0o600);
    expect(await status(service)).toMatchObject({ exitCode: 69, stderr: '' });
  });

  test('is gone after a stop, and replaced after a kill', async () => {
    const service = await started();
    await service.stop('SIGKILL');
    expect(lstatSync(service.socketPath).isSocket()).toBe(true);
    expect((await status(service)).stderr).toContain('postern.sock (ECONNREFUSED)');
    await service.launch();
    expect(await status(service)).toMatchObject({ exitCode: 69, stderr: '' });
    await service.stop();
    expect(existsSync(service.socketPath)).toBe(false);
    expect((await status(service)).stderr).toContain('postern.sock (ENOENT)');
    expect(service.output).not.toContain(WARNING);
  });

  test('is left alone by a second service with the same folder', async () => {
    const service = await started();
    const { ino } = lstatSync(service.socketPath);
    const second = await postern(['serve', '--config-dir', service.configFolder]);
    expect(second).toMatchObject({ exitCode: 69, stderr: expect.stringContaining('another Postern is using') });
    expect(lstatSync(service.socketPath).ino).toBe(ino);
    expect(await status(service)).toMatchObject({ exitCode: 69, stderr: '' });
  });

  test('gives way to a file of that name: the port serves, one warning and the command line say what to do', async () => {
    const service = await started();
    await service.stop();
    writeFileSync(service.socketPath, 'mine');
    await service.launch();
    const sentence = `${service.socketPath} is a file, not a socket: remove it and restart Postern.`;
    expect(service.output.split(WARNING)).toHaveLength(2);
    expect(service.output).toContain(sentence);
    expect((await service.get('/webhooks')).status).toBe(200);
    // The command line sends nothing until the address is named.
    const refused = await status(service);
    expect(refused).toMatchObject({ exitCode: 78, stderr: expect.stringContaining(sentence) });
    expect(refused.stderr).toContain(`--url http://127.0.0.1:${service.port}`);
    expect(await status(service, '--url', `http://127.0.0.1:${service.port}`)).toMatchObject({
      exitCode: 69,
      stderr: '',
    });
    rmSync(service.socketPath);
  });

  test('is not made in a folder that others may write to', async () => {
    const service = await started();
    await service.stop();
    chmodSync(service.configFolder, 0o777);
    await service.launch();
    const warning = `Other users of this machine can write to ${service.configFolder}. Run: chmod 700 ${service.configFolder}`;
    expect(service.output).toContain(warning);
    expect(existsSync(service.socketPath)).toBe(false);
    expect((await service.get('/webhooks')).status).toBe(200);
    chmodSync(service.configFolder, 0o700);
  });

  test('is not made where its path is too long: a sentence says so', async () => {
    const folder = join(root, 'x'.repeat(110));
    mkdirSync(folder, { mode: 0o700 });
    const toml = `[server]\nport = 1\n[auth]\napi_key = "${KEY}"\n[backend]\nchat_db_path = "${ABSENT}/chat.db"\n`;
    writeFileSync(join(folder, 'config.toml'), toml, { mode: 0o600 });
    const { exitCode, stderr } = await postern(['status', '--config-dir', folder]);
    expect(exitCode).toBe(78);
    expect(stderr).toContain(`${join(folder, 'postern.sock')} is longer than the 103 bytes that a Unix socket allows.`);
  });
});

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseMembership } from '../../src/features/fleet/protocol/membership.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, FleetServer } from '../support/fleet-server.ts';
import { freePort, KEY } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command as a person does. `input` is its standard input. */
function postern(args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['dist/main.js', ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

/** Creates the folder of a Mac that Postern has been installed on. */
function newMac(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'config.toml'), `[auth]\napi_key = "${KEY}"\n\n[fleet]\nchanges = false\n`, {
    mode: 0o600,
  });
  return folder;
}

describeWithNats('setting a fleet up', () => {
  test('two commands at the desk and one on each Mac', async () => {
    const dir = join(temporaryFolder(), 'fleet');
    const port = await freePort();
    const init = await postern(['fleet', 'init', '--dir', dir, '--server', `127.0.0.1:${port}`]);
    expect(init).toMatchObject({ code: 0, stderr: '' });
    const server = new FleetServer(dir);
    await server.start();
    const { code, stdout: line, stderr: said } = await postern(['fleet', 'add', 'm7', '--dir', dir]);
    expect(code).toBe(0);
    expect(said).not.toContain('Copy');
    expect(line).toMatch(/^postern-fleet:[\w-]+\n$/);
    server.reload();

    const mac = newMac();
    const joined = await waitFor(async () => {
      const ran = await postern(['fleet', 'join', '--config-dir', mac], line);
      return ran.stdout.includes('let it in. Restart') && ran;
    });
    expect(joined.code).toBe(0);
    expect(joined.stdout + joined.stderr).not.toContain(line.trim());
    const file = join(mac, 'fleet/member.line');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(mac, 'config.toml'), 'utf8')).toContain(`[fleet]\nfile = "${file}"\nchanges = false\n`);

    const status = await postern(['fleet', 'status', '--dir', dir, '--json']);
    expect(status.code).toBe(1);
    const problems = ['m7 does not answer.'];
    expect(JSON.parse(status.stdout)).toMatchObject({ macs: [{ mac: 'm7', machines: [] }], problems });
    const names = (JSON.parse(status.stdout) as { streams: { name: string }[] }).streams.map(({ name }) => name);
    expect(names).toEqual(['EV', 'WD', 'KV_webhooks', 'KV_claims']);
    await server.stop();
  });

  test('a server that the package started by itself does not count as one of the fleet', async () => {
    const dir = join(temporaryFolder(), 'fleet');
    const address = `127.0.0.1:${await freePort()}`;
    await postern(['fleet', 'init', '--dir', dir, '--server', address]);
    writeFileSync(join(dir, 'server/nats-server.conf'), `listen: "${address}"\n`);
    const server = new FleetServer(dir);
    await server.start();
    const said = `another nats-server has the port of ${address}`;
    const { stdout: line, stderr } = await postern(['fleet', 'add', 'm7', '--dir', dir]);
    expect(stderr).toContain(said);
    expect((await postern(['fleet', 'join', '--config-dir', newMac()], line)).stdout).toContain(said);
    expect(await postern(['fleet', 'status', '--dir', dir])).toMatchObject({
      code: 69,
      stderr: expect.stringContaining(said),
    });
    await server.stop();
  });

  test('the same Mac has the same line each time, and after a revocation another one', async () => {
    const dir = await newFleet();
    const [first, second] = [
      await postern(['fleet', 'add', 'm7', '--dir', dir]),
      await postern(['fleet', 'add', 'm7', '--dir', dir]),
    ];
    expect(second.stdout).toBe(first.stdout);
    expect(await postern(['fleet', 'revoke', 'm7', '--dir', dir])).toMatchObject({ code: 0 });
    expect(readFileSync(join(dir, 'server/users.conf'), 'utf8')).not.toContain('ev.m7.>');
    const third = await postern(['fleet', 'add', 'm7', '--dir', dir]);
    expect(parseMembership(third.stdout).seed).not.toBe(parseMembership(first.stdout).seed);
  });

  test('a machine does not become another Mac by accident, but a hub joins by the same command', async () => {
    const dir = await newFleet();
    const mac = newMac();
    await postern(['fleet', 'join', '--config-dir', mac], (await postern(['fleet', 'add', 'm7', '--dir', dir])).stdout);
    const other = (await postern(['fleet', 'add', 'm8', '--dir', dir])).stdout;
    const refused = await postern(['fleet', 'join', '--config-dir', mac], other);
    expect(refused.stderr).toContain('already m7');
    expect(parseMembership(readFileSync(join(mac, 'fleet/member.line'), 'utf8')).member).toBe('m7');
    const hub = newMac();
    const joined = await postern(['fleet', 'join', '--hub', '--config-dir', hub, '--file', join(dir, 'hub.line')]);
    expect(joined.stdout).toContain('This machine is a hub');
    expect(readFileSync(join(hub, 'config.toml'), 'utf8')).toContain(`api_key = "${KEY}"`);
  });

  test('a hub without a configuration gets one, with the same key at every hub of this fleet alone', async () => {
    const [dir, other] = [await newFleet(), await newFleet()];
    const keyOf = async (fleet: string) => {
      const hub = join(temporaryFolder(), 'hub');
      expect(await postern(['hub', '--config-dir', hub])).toMatchObject({
        code: 78,
        stderr: expect.stringContaining(`postern fleet join --hub --file hub.line --config-dir ${hub}`),
      });
      const joined = await postern(['fleet', 'join', '--hub', '--config-dir', hub, '--file', join(fleet, 'hub.line')]);
      expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining(`Wrote ${hub}/config.toml`) });
      expect(statSync(join(hub, 'config.toml')).mode & 0o777).toBe(0o600);
      return (await postern(['config', 'key', '--config-dir', hub])).stdout.trim();
    };
    const key = await keyOf(dir);
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(await keyOf(dir)).toBe(key);
    expect(await keyOf(other)).not.toBe(key);
  });

  test('a fleet whose files could not all be written is made by the next try', async () => {
    const dir = join(temporaryFolder(), 'fleet');
    const init = ['fleet', 'init', '--dir', dir, '--server', '127.0.0.1:4222'];
    mkdirSync(join(dir, 'hub.line'), { recursive: true });
    expect((await postern(init)).code).not.toBe(0);
    rmdirSync(join(dir, 'hub.line'));
    expect((await postern(init)).code).toBe(0);
    expect((await postern(init)).code).toBe(65);
  });

  test('a Mac joins whose configuration says that it is in no fleet', async () => {
    const mac = newMac();
    const config = join(mac, 'config.toml');
    writeFileSync(config, readFileSync(config, 'utf8').replace('changes', 'file = ""\nchanges'));
    const line = (await postern(['fleet', 'add', 'm7', '--dir', await newFleet()])).stdout;
    expect(await postern(['fleet', 'join', '--config-dir', mac], line)).toMatchObject({ code: 0 });
    expect(readFileSync(config, 'utf8')).toContain(`[fleet]\nfile = "${join(mac, 'fleet/member.line')}"\nchanges`);
  });

  test('doctor at a hub that does not run says how to start it', async () => {
    const hub = newMac();
    await postern(['fleet', 'join', '--hub', '--config-dir', hub, '--file', join(await newFleet(), 'hub.line')]);
    expect((await postern(['doctor', '--config-dir', hub])).stdout).toContain(`postern hub --config-dir ${hub}`);
  });

  test.each([
    ['', 'it is empty'],
    ['postern-fleet:', 'it is cut off or damaged (14 characters)'],
    ['postern-fleet:e30', 'it was made by another version of Postern, or is incomplete'],
    ['something else', 'it does not begin with postern-fleet:'],
    ['postern-fleet:e30 postern-fleet:e30', 'it is more than one line, or has spaces in it'],
  ])('the line %j is refused with its reason, and nothing written', async (line, reason) => {
    await refuses(newMac(), `${line}\n`, [], reason);
  });

  test('a line of another kind, or the beginning of one, is named', async () => {
    const dir = await newFleet();
    const ofMac = (await postern(['fleet', 'add', 'm7', '--dir', dir])).stdout;
    const ofHubs = readFileSync(join(dir, 'hub.line'), 'utf8');
    await refuses(newMac(), ofMac.slice(0, 200), [], 'cut off or damaged (200 characters)');
    await refuses(newMac(), ofMac, ['--hub'], 'This is the line of the Mac m7, not of the hubs.');
    await refuses(newMac(), ofHubs, [], 'This is the line of the hubs.\n  At a hub, add --hub.');
    const mac = newMac();
    writeFileSync(join(mac, 'state.db'), '');
    await refuses(mac, ofHubs, ['--hub'], `${mac} is the folder of a Mac.\n  Name the folder of the hub`);
  });

  test('a new content key comes in three steps, in which every machine opens what any other seals', async () => {
    const folder = FleetFolder.open(await newFleet());
    const keys = () => parseMembership(folder.addMac('m7')).keys;
    const [old = ''] = keys();
    expect(folder.rotateKey(0)).toBe('added');
    const [first, fresh = ''] = keys();
    expect(first).toBe(old);
    expect(folder.rotateKey(1000)).toBe('switched');
    expect(keys()).toEqual([fresh, old]);
    const afterMs = 1000 + 168 * 3_600_000;
    expect(() => folder.rotateKey(afterMs - 1)).toThrow('Until 1970-01-08T00:00:01Z, the stream holds events');
    expect(keys()).toEqual([fresh, old]);
    expect(folder.rotateKey(afterMs)).toBe('ended');
    expect(keys()).toEqual([fresh]);
    for (const step of ['added', 'switched']) expect(folder.rotateKey(afterMs)).toBe(step);
    expect(folder.rotateKey(afterMs, true)).toBe('ended');
  });
});

/** Expects that joining with this line fails, says why, and writes nothing. */
async function refuses(folder: string, line: string, options: readonly string[], reason: string): Promise<void> {
  const before = readFileSync(join(folder, 'config.toml'), 'utf8');
  const refused = await postern(['fleet', 'join', '--config-dir', folder, ...options], line);
  expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining(reason) });
  expect(readFileSync(join(folder, 'config.toml'), 'utf8')).toBe(before);
  expect(existsSync(join(folder, 'fleet'))).toBe(false);
}

async function newFleet(): Promise<string> {
  const dir = join(temporaryFolder(), 'fleet');
  await postern(['fleet', 'init', '--dir', dir, '--server', `127.0.0.1:${await freePort()}`]);
  return dir;
}

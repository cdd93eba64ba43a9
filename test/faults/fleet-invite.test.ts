import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentKeys, Envelope, hubKeys } from '../../src/features/fleet/protocol/envelope.ts';
import { joinSubject } from '../../src/features/fleet/protocol/layout.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { awaitJoining, joinFleet, newSecret, readToken, tokenOf } from '../../src/features/fleet/setup/invitation.ts';
import { connectOperator } from '../../src/features/fleet/setup/operator-connection.ts';
import { waitFor } from '../support/eventually.ts';
import { FleetServer, newFleet } from '../support/fleet-server.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { postern, type Running, startPostern } from '../support/postern.ts';
import { temporaryFolder } from '../support/temporary.ts';

const base = temporaryFolder();

describeWithNats('an invitation', () => {
  const dir = join(base, 'desk');
  let server: FleetServer;
  let homes = 0;

  beforeAll(async () => {
    await newFleet(dir, []);
    server = await FleetServer.start(dir);
    await postern(['fleet', 'init', '--connect', '--dir', dir]);
  });
  afterAll(() => server.stop());

  /** Creates the configuration folder of a new Mac. */
  function newHome(text = '# mine\n[fleet]\n# servers = []\n\n[auth]\napi_key = "0123456789abcdef"\n'): string {
    const home = join(base, `home-${++homes}`);
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, 'config.toml'), text, { mode: 0o600 });
    return home;
  }

  /** Starts an invitation and returns its token, which is printed on stdout. */
  async function invite(mac: string, ...options: readonly string[]): Promise<{ desk: Running; token: string }> {
    const desk = startPostern(['fleet', 'invite', mac, '--dir', dir, ...options]);
    return { desk, token: await tokenFrom(desk) };
  }

  /** Returns what an invitation has printed once it waits: the two pipes may arrive in either order. */
  async function tokenFrom(desk: Running): Promise<string> {
    await waitFor(() => desk.stderr.includes('Waiting for') && desk.stdout.endsWith('\n'));
    return desk.stdout;
  }

  const config = (home: string): string => readFileSync(join(home, 'config.toml'), 'utf8');
  const usersText = (): string => readFileSync(join(dir, 'server/users.conf'), 'utf8');

  test('lets one machine join, which makes its own key and writes its own configuration', async () => {
    const { desk, token } = await invite('m1');
    const home = newHome();
    const mac = startPostern(['fleet', 'join', '--config-dir', home], { input: token });
    expect([await desk.ended, desk.stdout]).toEqual([0, token]);
    expect(desk.stderr).toContain('has joined as m1');
    await waitFor(() => mac.stdout.includes('Waiting until the servers'));
    expect(mac.stdout).not.toContain('has not confirmed');
    server.reload();
    expect([await mac.ended, mac.stderr]).toEqual([0, '']);
    expect(mac.stdout).toContain('The servers let m1 in');

    const file = (name: string): string => readFileSync(join(home, 'fleet', name), 'utf8');
    for (const name of ['nats.key', 'content.key']) {
      expect(statSync(join(home, 'fleet', name)).mode & 0o777).toBe(0o600);
    }
    expect(existsSync(join(dir, 'macs/m1'))).toBe(false);
    expect(config(home)).toMatch(/^# mine\n\[fleet\]\nservers = /);
    const hub = new Envelope(hubKeys(readFileSync(join(dir, 'hub/content.key'), 'utf8')));
    const sealed = new Envelope(agentKeys(file('content.key'))).seal('m1', [], Buffer.from('text'));
    expect(hub.open('m1', [], sealed)).toEqual(Buffer.from('text'));
    const { stdout } = await postern(['doctor', '--config-dir', home, '--json']);
    expect(stdout).toContain('The fleet lets this Mac in');
    expect(await postern(['fleet', 'join', '--config-dir', home], { input: token })).toMatchObject({
      exitCode: 65,
      stderr: expect.stringContaining('is already m1 in a fleet'),
    });
  });

  test('that was used, has ended, or is cut lets nobody join, and says what to type', async () => {
    const { desk, token } = await invite('m2');
    const before = usersText();
    const join = (given: string, home = newHome()): Promise<unknown> =>
      postern(['fleet', 'join', '--config-dir', home], { input: given });
    desk.child.kill('SIGINT');
    expect([await desk.ended, desk.stderr]).toEqual([124, expect.stringContaining('Nobody has joined as m2')]);
    const home = newHome();
    const [late, cut] = await Promise.all([join(token, home), join(token.slice(0, -30))]);
    // With --token-file, the token is read from a file instead of stdin.
    const file = `${home}/token.txt`;
    writeFileSync(file, token);
    const [fromFile, none] = await Promise.all(
      [file, `${home}/none`].map((path) =>
        postern(['fleet', 'join', '--config-dir', home, '--token-file', path], { input: 'no token' }),
      ),
    );
    expect(fromFile).toEqual(late);
    expect(none).toMatchObject({ exitCode: 65, stderr: expect.stringContaining('The token cannot be read (ENOENT') });
    expect(late).toMatchObject({ exitCode: 69, stderr: expect.stringContaining('Run there: postern fleet invite m2') });
    expect(cut).toMatchObject({ exitCode: 65, stderr: expect.stringContaining('whole token') });
    expect([existsSync(`${home}/fleet`), config(home)]).toEqual([false, config(newHome())]);
    expect(usersText()).toBe(before);
  });

  /** Opens an invitation whose desk is this process. */
  async function openInvitation(mac: string) {
    const folder = FleetFolder.open(dir);
    const connection = await connectOperator(folder, 'operator');
    const asked = new AbortController();
    const invitation = folder.invitation(mac);
    const ended = awaitJoining(
      connection,
      invitation,
      folder.contentOf(mac),
      { opened: () => {}, store: ({ key }) => folder.joinMac(mac, key, '2026-01-01T00:00:00Z') },
      asked.signal,
    ).finally(() => connection.close());
    await connection.flush();
    return { invitation, connection, folder, ended, end: () => asked.abort() };
  }

  test('belongs to the first machine that uses it, and only once that has stored what it received', async () => {
    const { invitation, folder, ended, end } = await openInvitation('m4');
    const before = usersText();
    const failing = joinFleet(invitation, 'first', () => {
      throw new Error('the disk is full');
    });
    await expect(failing).rejects.toThrow('the disk is full');
    await expect(joinFleet(invitation, 'second', () => {})).rejects.toMatchObject({ code: 'invitation_taken' });
    end();
    expect([await ended, folder.macs.includes('m4'), usersText()]).toEqual([undefined, false, before]);
  });

  test('says nothing to somebody who listens at the broker, and a replay of it changes nothing', async () => {
    const heard: Uint8Array[] = [];
    const spy = await connectOperator(FleetFolder.open(dir), 'operator');
    spy.subscribe('>', { callback: (_, { data }) => void heard.push(data) });
    await spy.flush();
    const { invitation, ended } = await openInvitation('m5');
    const secrets = [invitation.secret];
    await joinFleet(invitation, 'mini', ({ seed, contentKeys }) => void secrets.push(seed, contentKeys.trim()));
    expect(await ended).toMatchObject({ name: 'mini' });
    await spy.flush();
    const all = Buffer.concat(heard).toString('latin1');
    expect(heard.length).toBeGreaterThan(3);
    expect([...secrets, 'mini'].filter((text) => text === '' || all.includes(text))).toEqual([]);

    const again = await openInvitation('m5');
    const before = usersText();
    for (const data of heard) spy.publish(joinSubject('m5'), data);
    await spy.flush();
    await spy.close();
    const other = tokenOf({ ...again.invitation, secret: newSecret() });
    expect(readToken(other)).toMatchObject({ mac: 'm5', servers: [server.url] });
    // The invitation is still open to the machine that has its token.
    expect(await joinFleet(again.invitation, 'new one', () => {})).toBe(true);
    expect([await again.ended, usersText() === before]).toEqual([expect.objectContaining({ name: 'new one' }), false]);
  });

  test('is refused for a Mac that is there, unless its machine is replaced', async () => {
    FleetFolder.open(dir).addMac('m6', '2026-01-01T00:00:00Z');
    const key = /# m6\n.*nkey: (U\w+)/.exec(usersText())?.[1] ?? '';
    expect(await postern(['fleet', 'invite', 'm6', '--dir', dir])).toMatchObject({
      exitCode: 65,
      stderr: expect.stringContaining('postern fleet invite m6 --replace'),
    });
    const { desk, token } = await invite('m6', '--replace');
    expect(usersText()).toContain(key);
    expect(await joinFleet(readToken(token), 'new one', () => {})).toBe(true);
    expect(await desk.ended).toBe(0);
    expect(usersText()).not.toContain(key);
    expect(existsSync(`${dir}/macs/m6/nats.key`)).toBe(false);
  });

  test('of a fleet that an earlier version made asks for one reload first', async () => {
    const old = join(base, 'old-desk');
    await newFleet(old, []);
    const record = JSON.parse(readFileSync(join(old, 'fleet.json'), 'utf8')) as Record<string, unknown>;
    const { joiner: _, ...earlier } = record;
    writeFileSync(join(old, 'fleet.json'), JSON.stringify(earlier));
    FleetFolder.open(old).addMac('m8', '2026-01-01T00:00:00Z');
    expect(readFileSync(join(old, 'server/users.conf'), 'utf8')).not.toContain('join.*');
    const older = await FleetServer.start(old);
    const desk = startPostern(['fleet', 'invite', 'm9', '--dir', old]);
    const token = await tokenFrom(desk);
    expect(desk.stderr).toMatch(/^First:\n/);
    await expect(joinFleet(readToken(token), 'mini', () => {})).rejects.toMatchObject({ code: 'broker_away' });
    older.reload();
    const joins = (): Promise<boolean> => joinFleet(readToken(token), 'mini', () => {}).catch(() => false);
    await waitFor(joins);
    expect(await desk.ended).toBe(0);
    await older.stop();
  });
});

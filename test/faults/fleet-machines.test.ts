import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { connectOnce, managerOf } from '../../src/features/fleet/protocol/connect-once.ts';
import { BUCKETS, claimKey, inboxPrefix } from '../../src/features/fleet/protocol/layout.ts';
import { isForbidden } from '../../src/features/fleet/protocol/machine-claim.ts';
import { createFleet, createMac } from '../../src/features/fleet/protocol/streams.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { fleetReport } from '../../src/features/fleet/setup/fleet-report.ts';
import { MEMBER_FILES } from '../../src/features/fleet/setup/member-files.ts';
import { connectOperator } from '../../src/features/fleet/setup/operator-connection.ts';
import { eventually } from '../support/eventually.ts';
import { FleetMac } from '../support/fleet-mac.ts';
import { FleetServer, newFleet } from '../support/fleet-server.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const base = temporaryFolder();

describeWithNats('an identity of a fleet', () => {
  const dir = join(base, 'desk');
  let folder: FleetFolder;
  let server: FleetServer;
  const macs: FleetMac[] = [];
  const hubs: HubFixture[] = [];

  beforeAll(async () => {
    await newFleet(dir, ['m1', 'm2']);
    server = await FleetServer.start(dir);
    folder = FleetFolder.open(dir);
    const operator = await connectOperator(folder, 'operator');
    const jsm = await managerOf(operator);
    await createFleet(jsm);
    for (const mac of folder.macs) await createMac(jsm, mac);
    await operator.close();
  });
  afterAll(async () => {
    for (const one of [...hubs, ...macs]) await one.dispose();
    await server.stop();
  });

  function filesIn(path: string): Record<string, unknown> {
    const content = { content: 'encrypted', content_key_file: join(path, MEMBER_FILES.content) };
    return { servers: [server.url], key_file: join(path, MEMBER_FILES.key), ...content };
  }

  /** Starts a machine with the files that the desk currently has for this Mac. */
  function newMachine(mac: string, machine: string): FleetMac {
    const home = join(base, `machine-${macs.length}`);
    cpSync(folder.memberFolder({ mac }), join(home, 'fleet'), { recursive: true });
    const made = new FleetMac(home, { ...filesIn(join(home, 'fleet')), mac });
    made.machine = machine;
    macs.push(made);
    return made;
  }

  /** Reports whether the server forbids a Mac to claim its identity. */
  async function isForbiddenToClaim(mac: string): Promise<boolean> {
    const { key_file: keyFile } = filesIn(folder.memberFolder({ mac })) as { key_file: string };
    const seed = readFileSync(keyFile, 'utf8').trim();
    const nc = await connectOnce({
      servers: [server.url],
      seed,
      ca: undefined,
      name: mac,
      inboxPrefix: inboxPrefix(mac),
    });
    // The sequence is never the right one, so a permitted claim fails too and leaves the bucket unchanged.
    const claim = jetstream(nc).publish(`$KV.${BUCKETS.macs}.${claimKey(mac)}`, '', {
      expect: { lastSubjectSequence: 99 },
    });
    const isRefused = await claim.then(() => false, isForbidden);
    await nc.close();
    return isRefused;
  }

  const isJoined = async (mac: FleetMac): Promise<unknown> => mac.published(mac.write('hello'));

  test('belongs to one machine: a copy of its disk is refused and named, until it is adopted', async () => {
    const first = newMachine('m1', 'A');
    await first.start();
    await isJoined(first);
    await first.stop();
    const copy = newMachine('m1', 'B');
    cpSync(join(first.folder, 'config'), join(copy.folder, 'config'), { recursive: true });
    await copy.start();
    const refused = await copy.fleet(({ state }) => state === 'refused');
    expect(refused.problem).toContain(`m1 belongs to the machine "${hostname()}"`);
    expect(refused.problem).toContain('postern fleet adopt m1');
    expect(await copy.get('/health')).toMatchObject({ backend: { message: refused.problem } });

    // The copy was started first and is running.
    await first.start();
    await isJoined(first);
    const hub = await HubFixture.start([server.url], filesIn(folder.memberFolder('hub')));
    hubs.push(hub);
    const machines = async (): Promise<unknown> =>
      (await hub.client.status()).macs?.map(({ machine, refused_machine: other }) => [machine, other]);
    await copy.stop();
    await copy.start();
    expect((await copy.fleet(({ state }) => state === 'refused')).problem).toBe(refused.problem);
    await eventually(async () => expect(await machines()).toEqual([[hostname(), hostname()]]));
    expect((await hub.client.health()).backend.message).toContain('has the key of m1, but m1 belongs to');
    const report = await fleetReport(folder, Date.now());
    expect(report.problems).toContainEqual(
      expect.stringContaining(`If it replaces "${hostname()}", run: postern fleet adopt m1`),
    );
    expect(Math.abs(report.macs[0]?.clockAheadMs ?? Number.NaN)).toBeLessThan(5000);
    await copy.stop();
    await first.stop();

    folder.addMac('m1', '2026-01-02T00:00:00Z');
    server.reload();
    const adopted = newMachine('m1', 'B');
    await adopted.start();
    await isJoined(adopted);
    await first.start();
    expect(await first.fleet(({ problem }) => problem !== null)).toMatchObject({ state: 'away' });
    await eventually(async () => expect(await machines()).toEqual([[hostname(), undefined]]));
  });

  test('is known by its run alone where users.conf is of an earlier version', async () => {
    const users = join(dir, 'server/users.conf');
    const text = readFileSync(users, 'utf8');
    writeFileSync(
      users,
      text
        .split('\n')
        .filter((line) => !/KV\.macs\.machine_m2|DIRECT\.GET\.KV_macs\.\$KV/.test(line))
        .join('\n'),
    );
    server.reload();
    await eventually(async () => expect(await isForbiddenToClaim('m2')).toBe(true));
    const [first, second] = [newMachine('m2', 'A'), newMachine('m2', 'B')];
    await first.start();
    await isJoined(first);
    await second.start();
    expect(await second.fleet(({ state }) => state === 'refused')).toMatchObject({
      problem: expect.stringContaining('Another Mac is in the fleet as m2'),
    });
    await first.stop();
    expect(folder.updateUsers()).toBe(true);
    expect(readFileSync(users, 'utf8')).toBe(text);
  });
});

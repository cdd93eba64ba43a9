import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { commandRunner } from '../../src/core/runtime/command.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Hub } from '../support/fleet-fixture.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const runCommand = commandRunner({ PATH: process.env.PATH });

describeWithNats('a fleet that speaks TLS', () => {
  let fleet: TestFleet;
  const hubs: Hub[] = [];

  beforeEach(async () => {
    fleet = await TestFleet.start(['m1'], runCommand);
  });
  afterEach(async () => {
    for (const hub of hubs.splice(0)) await hub.stop();
    await fleet.close();
  });

  async function startHub(): Promise<Hub> {
    const hub = new Hub(temporaryFolder(), { file: fleet.folder.hubLine });
    hubs.push(hub);
    await hub.start();
    return hub;
  }

  test('carries events, and requests to a Mac, and nothing can be read on the way', async () => {
    const mac = fleet.mac('m1');
    await mac.start();
    const hub = await startHub();
    const row = mac.write('by a safe way');
    expect(await hub.texts(1)).toEqual(['by a safe way']);
    const answer = await waitFor(async () => {
      const passed = await hub.get(`/macs/m1/api/v1/messages/${row}`);
      return passed.status === 200 && passed;
    });
    expect(await answer.json()).toMatchObject({ body: 'by a safe way' });
    const [url = ''] = fleet.folder.servers;
    expect(url).toMatch(/^tls:/);
    // The server lets nobody speak before the handshake.
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const [greeting] = (await once(socket, 'data')) as [Buffer];
    expect(greeting.toString()).toContain('"tls_required":true');
    socket.end('CONNECT {"verbose":true}\r\nPING\r\n');
    const [refused] = (await once(socket, 'data')) as [Buffer];
    expect(refused.toString()).not.toContain('PONG');
    socket.destroy();
  });

  test('goes on when the server has a new certificate of the same authority', async () => {
    const mac = fleet.mac('m1');
    await mac.start();
    const hub = await startHub();
    mac.write('before');
    expect(await hub.texts(1)).toEqual(['before']);
    await fleet.server.stop();
    const certificate = join(fleet.folder.path, 'server/tls/server.pem');
    const old = readFileSync(certificate, 'utf8');
    await fleet.folder.renewCertificates(runCommand);
    expect(readFileSync(certificate, 'utf8')).not.toBe(old);
    await fleet.server.start();
    mac.write('after');
    expect(await hub.texts(2)).toEqual(['before', 'after']);
  });

  test('speaks to no server whose certificate another authority has made', async () => {
    const mac = fleet.mac('m1');
    await mac.start();
    const hub = await startHub();
    mac.write('before');
    expect(await hub.texts(1)).toEqual(['before']);
    const other = await TestFleet.start(['m1'], runCommand);
    await fleet.server.stop();
    for (const name of ['server.pem', 'server.key']) {
      copyFileSync(join(other.folder.path, 'server/tls', name), join(fleet.folder.path, 'server/tls', name));
    }
    await fleet.server.start();
    mac.write('for nobody');
    await mac.fleet(({ problem }) => /certificate/i.test(String(problem)));
    await eventually(async () => expect((await hub.get('/ready')).status).toBe(503));
    await other.close();
  });
});

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import type { Message } from '../../src/client/postern-client.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { MEMBER_FILES } from '../../src/features/fleet/setup/member-files.ts';
import { connectOperator } from '../../src/features/fleet/setup/operator-connection.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FleetMac } from '../support/fleet-mac.ts';
import { FleetServer, newFleet } from '../support/fleet-server.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { postern } from '../support/postern.ts';
import { quickClock } from '../support/quick-clock.ts';
import { KEY } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

describeWithNats('a pair whose first Mac hangs, or is cut off', () => {
  const dir = temporaryFolder();
  const fleetDir = join(dir, 'fleet');
  let server: FleetServer;
  let operator: NatsConnection | undefined;
  // A faster clock would not leave the Mac, which runs the built program, enough time to answer the hub.
  const clock = quickClock(2, () => operator);
  let hub: HubFixture;
  let sim: Awaited<ReturnType<typeof simulatedMac>>;
  /** Accepts requests and never answers, like a stopped process or a cut line. */
  let hung: StandInAgent;
  let standby: FleetMac;

  beforeAll(async () => {
    await newFleet(fleetDir, ['m7', 'm8', 'm9']);
    server = await FleetServer.start(fleetDir);
    await postern(['fleet', 'init', '--connect', '--dir', fleetDir]);
    operator = await connectOperator(FleetFolder.open(fleetDir), 'operator');
    const filesOf = (member: 'hub' | { mac: string }) => {
      const folder = FleetFolder.open(fleetDir).memberFolder(member);
      const files = { key_file: join(folder, MEMBER_FILES.key), content_key_file: join(folder, MEMBER_FILES.content) };
      return { ...files, content: 'encrypted' };
    };
    hub = await HubFixture.start([server.url], filesOf('hub'), undefined, clock);
    hung = await StandInAgent.in(FleetFolder.open(fleetDir), server.url, 'm7');
    for (const operation of ['knowsKey', 'message', 'listMessages', 'conversation'] as const) {
      await hung.answer(operation, undefined);
    }
    await hung.announce();
    sim = await simulatedMac();
    const settings = { servers: [server.url], mac: 'm8', ...filesOf({ mac: 'm8' }) };
    standby = new FleetMac(join(dir, 'm8'), settings, sim);
    await standby.start();
    await waitFor(async () => ((await hub.client.status()).macs ?? []).length === 2);
  });
  afterAll(async () => {
    await hung.close();
    await hub.dispose();
    await standby.dispose();
    await sim.dispose();
    await operator?.close();
    await server.stop();
  });

  const send = async (body: string) => {
    const answer = await fetch(`${hub.api}/messages`, {
      method: 'POST',
      headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json' },
      body: JSON.stringify({ recipient: '+15550144', from: 'm7', body }),
    });
    return { status: answer.status, message: (await answer.json()) as Message };
  };

  test('is created by the operator from two Macs of the fleet that are in no other pair', async () => {
    const pair = (mac: string, other: string) => postern(['fleet', 'pair', mac, other, '--dir', fleetDir]);
    for (const [mac, other, sentence] of [
      ['m7', 'm7', 'Both ids are m7'],
      ['m7', 'm0', 'There is no Mac m0'],
    ] as const) {
      const refused = await pair(mac, other);
      expect([refused.exitCode, refused.stderr]).toEqual([65, expect.stringContaining(sentence)]);
    }
    expect(await pair('m7', 'm8')).toMatchObject({ exitCode: 0, stderr: '' });
    const taken = await pair('m9', 'm8');
    expect([taken.exitCode, taken.stderr]).toEqual([65, expect.stringContaining('m7 and m8 are a pair already')]);
    await eventually(async () => {
      const { macs = [] } = await hub.client.status();
      expect(macs.map(({ id, pair: of }) => [id, of])).toEqual([
        ['m7', 'm7'],
        ['m8', 'm7'],
      ]);
    });
    const status = await postern(['fleet', 'status', '--dir', fleetDir]);
    expect(status.stdout).toContain('\nPair  m7 and its standby m8, shown as m7\n');
    // The command may be repeated, for a broker that lost everything.
    expect(await postern(['fleet', 'init', '--connect', '--dir', fleetDir])).toMatchObject({ exitCode: 0 });
  });

  test('sends through the other Mac within 15 s, and stays there', async () => {
    const startMs = clock.monotonic();
    const sending = send('first');
    // The rest of the send takes real time, which says nothing at a quick clock.
    await waitFor(() => hub.log.lines.some(({ message }) => message.includes('now holds the lease')));
    expect(clock.monotonic() - startMs).toBeLessThan(15_000);
    const first = await sending;
    expect(first).toMatchObject({ status: 201, message: { mac: 'm7' } });
    expect(await hub.client.message(first.message.id)).toMatchObject({ body: 'first', mac: 'm7' });
    const list = await hub.get(`/messages?conversation_id=${encodeURIComponent(first.message.conversation_id)}`);
    expect([list.status, ((await list.json()) as Message[]).map(({ body }) => body)]).toEqual([200, ['first']]);
    // The first Mac resumes. Its lease has expired, and its queue is empty.
    await hung.close();
    hung = await StandInAgent.in(FleetFolder.open(fleetDir), server.url, 'm7');
    await hung.answer('knowsKey', { result: false });
    await hung.announce('woken');
    const { macs = [] } = await hub.client.status();
    expect(macs.map(({ id, sends }) => [id, sends])).toEqual([
      ['m7', false],
      ['m8', true],
    ]);
    const metrics = await (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
    expect(metrics).toMatch(/^postern_mac_sends\{mac="m8"\} 1$/m);
    const shown = await postern(['status', '--url', hub.url], { env: { POSTERN_API_KEY: KEY } });
    expect(shown.stdout).toMatch(/m7, present, .*, in the pair m7$/m);
    expect(shown.stdout).toMatch(/m8, present, .*, in the pair m7 \(the one that sends\)$/m);
    const second = await send('second');
    expect(second.status).toBe(201);
    expect(sim.calls.filter(({ values }) => values.BODY !== undefined).map(({ values }) => values.BODY)).toEqual([
      'first',
      'second',
    ]);
  });
});

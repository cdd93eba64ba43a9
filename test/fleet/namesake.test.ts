import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import type { FleetReport } from '../../src/features/fleet/agent/agent.ts';
import { Namesake } from '../../src/features/fleet/agent/namesake.ts';
import { fleetFindings } from '../../src/features/fleet/findings.ts';
import type { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { Envelope, fleetKeys, newFleetKey } from '../../src/features/fleet/protocol/envelope.ts';
import { who } from '../../src/features/fleet/protocol/requests.ts';
import { waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { FleetMac } from '../support/fleet-mac.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';
import { collectingLog } from '../support/log.ts';

test('the machine that came later stands back as long as the other one speaks', async () => {
  const clock = new FakeClock();
  const listeners = new Set<(error: null, message: { readonly data: Uint8Array }) => void>();
  const nc = {
    publish: (_subject: string, data: Uint8Array) => {
      for (const listener of listeners) listener(null, { data });
    },
    subscribe: (_subject: string, { callback }: { readonly callback: Parameters<typeof listeners.add>[0] }) => {
      listeners.add(callback);
      return { unsubscribe: () => listeners.delete(callback) };
    },
  };
  const connection = { nc, isConnected: true } as unknown as FleetConnection;
  const envelope = new Envelope(fleetKeys([newFleetKey()]));
  const shared = { member: 'm7', machine: 'one', connection, envelope: () => envelope, clock, log: collectingLog() };
  const changes: boolean[] = [];
  const first = new Namesake({ ...shared, onChange: () => {} });
  clock.step(1);
  const second: Namesake = new Namesake({ ...shared, onChange: () => changes.push(second.isFirst) });
  first.start();
  second.start();
  await clock.advance(10_000);
  expect(changes).toEqual([true]);
  first.stop();
  await clock.advance(2000);
  expect(changes).toEqual([true]);
  await clock.advance(1000);
  expect(changes).toEqual([true, false]);
  second.stop();
});

describeWithNats('two machines with one name', () => {
  let fleet: TestFleet;

  beforeEach(async () => {
    fleet = await TestFleet.start(['m7']);
  });
  afterEach(() => fleet.close());

  /** Returns what doctor says of the fleet while the service runs. */
  async function findings(mac: FleetMac): Promise<string> {
    const report = (await mac.fleet()) as unknown as FleetReport;
    const running = { isUp: true, report, backend: undefined, dir: mac.folder };
    return JSON.stringify(await fleetFindings(join(mac.folder, 'member.line'), running));
  }

  test('are named by both, and the one that came later publishes and answers nothing until the other has ended', async () => {
    const [first, second] = [fleet.mac('m7'), fleet.mac('m7')];
    await first.start();
    await first.fleet(({ state }) => state === 'connected');
    await second.start();
    const refused = await second.fleet(({ state }) => state === 'refused');
    const kept = await first.fleet(({ problem }) => problem !== null);
    expect(refused.problem).toMatch(/has the name one of this machine, and was there first: this one publishes/);
    expect(kept).toMatchObject({ state: 'connected', problem: expect.stringMatching(/has the name one .* kept out$/) });
    for (const mac of [first, second]) {
      expect(await findings(mac)).toContain('give it another name: \\"machine\\" under [fleet]');
      expect(await mac.get('/status')).toMatchObject({ warnings: [{ code: 'fleet_refused' }] });
      expect(mac.log.lines.filter(({ message }) => message.includes('have one name'))).toHaveLength(1);
    }
    second.write('of the second');
    const row = first.write('of the first');
    await first.published(row);
    expect(await fleet.bodies('m7', 1)).toEqual(['of the first']);
    const asking = { connection: await fleet.hub(), envelope: fleet.envelope, clock: systemClock };
    expect(await waitFor(async () => (await who(asking, 300)).map(({ problem }) => problem))).toEqual([kept.problem]);
    await first.stop();
    expect(await second.fleet(({ state }) => state === 'connected')).toMatchObject({ problem: null });
    expect(await fleet.bodies('m7', 2)).toEqual(['of the first', 'of the second']);
  });
});

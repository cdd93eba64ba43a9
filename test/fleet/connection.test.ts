import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { parseMembership } from '../../src/features/fleet/protocol/membership.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';
import { collectingLog } from '../support/log.ts';

describeWithNats('the log of a connection to the broker', () => {
  let fleet: TestFleet;
  beforeAll(async () => {
    fleet = await TestFleet.start(['m7']);
  });
  afterAll(() => fleet.close());

  test('has one line for each kind of refusal, and one for a lost server, without secrets', async () => {
    const line = fleet.folder.addMac('m7');
    const log = collectingLog();
    const host = { clock: systemClock, log, name: 'm7.one' };
    const connection = new FleetConnection(() => parseMembership(line), host);
    connection.start();
    await waitFor(() => connection.isConnected);
    for (const subject of ['ev.m8.a', 'ev.m8.b', '$JS.API.STREAM.DELETE.EV']) connection.nc.publish(subject, 'text');
    connection.nc.subscribe('an.m8.secret', { callback: () => {} });
    await connection.nc.flush();
    const refused = (): readonly unknown[] =>
      log.lines.filter(({ message }) => message === 'the broker refused something').map(({ fields }) => fields.reason);
    await waitFor(() => refused().length >= 3);
    expect(refused()).toEqual([
      'no right to publish: ev.m8',
      'no right to publish: $JS.API.STREAM.DELETE.EV',
      'no right to subscription: an.m8',
    ]);
    await fleet.server.stop();
    await waitFor(() => !connection.isConnected);
    expect(log.lines.filter(({ message }) => message.startsWith('the connection to the broker was lost'))).toHaveLength(
      1,
    );
    await connection.close();
    const { seed, keys } = parseMembership(line);
    const text = JSON.stringify(log.lines);
    expect([seed, ...keys, 'secret'].filter((secret) => text.includes(secret))).toEqual([]);
  });
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { StreamTail } from '../../src/features/fleet/hub/stream-tail.ts';
import type { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';
import { collectingLog } from '../support/log.ts';

describeWithNats('the tail of the stream', () => {
  let fleet: TestFleet;

  beforeAll(async () => {
    fleet = await TestFleet.start([]);
  });
  afterAll(() => fleet.close());

  test('ends although it is closed while it asks for its consumer', async () => {
    const hub = await fleet.hub();
    let closed: Promise<void> | undefined;
    const consumers = {
      async get(...asked: Parameters<FleetConnection['js']['consumers']['get']>) {
        const consumer = await hub.js.consumers.get(...asked);
        closed = tail.close();
        return consumer;
      },
    };
    const connection = Object.create(hub, {
      js: { value: { consumers } },
      isConnected: { value: true },
      manager: { value: () => hub.manager() },
    }) as FleetConnection;
    const tail = new StreamTail({ connection, envelope: fleet.envelope, clock: systemClock, log: collectingLog() });
    await waitFor(() => closed !== undefined);
    await expect(closed).resolves.toBeUndefined();
  });
});

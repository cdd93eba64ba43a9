import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { StreamPages } from '../../src/features/fleet/hub/stream-pages.ts';
import { StreamTail } from '../../src/features/fleet/hub/stream-tail.ts';
import type { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';
import { collectingLog } from '../support/log.ts';

describeWithNats('the pages of the stream', () => {
  let fleet: TestFleet;
  let tail: StreamTail | undefined;

  beforeAll(async () => {
    fleet = await TestFleet.start([]);
  });
  afterAll(async () => {
    await tail?.close();
    await fleet.close();
  });

  test('are read 16 at a time; the next one begins when one of them has ended, even by a failure', async () => {
    const hub = await fleet.hub();
    const begin: ((ready: undefined | Promise<undefined>) => void)[] = [];
    const consumers = {
      async get(...asked: Parameters<FleetConnection['js']['consumers']['get']>) {
        await new Promise<undefined>((resolve) => void begin.push(resolve));
        return hub.js.consumers.get(...asked);
      },
    };
    const parts = { envelope: fleet.envelope, clock: systemClock, log: collectingLog() };
    const end = new StreamTail({ ...parts, connection: hub });
    tail = end;
    await waitFor(() => end.isFilled);
    const js = { value: { consumers } };
    const connection = Object.create(hub, { js, isConnected: { value: true } }) as FleetConnection;
    const pages = new StreamPages({ ...parts, connection, tail: end });
    const { last } = end;
    const reading = Array.from({ length: 17 }, () => pages.after(last, 10));
    expect(begin).toHaveLength(16);
    begin[0]?.(Promise.reject(new Error('the consumer cannot be made')));
    await expect(reading[0]).rejects.toThrow('the consumer cannot be made');
    await waitFor(() => begin.length === 17);
    for (const one of begin) one(undefined);
    expect(await Promise.all(reading.slice(1))).toEqual(Array(16).fill({ entries: [], upTo: last }));
  });
});

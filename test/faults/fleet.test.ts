import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENTS } from '../../src/features/fleet/protocol/subjects.ts';
import { isLong } from '../support/conditions.ts';
import { describeWithNats } from '../support/fleet-server.ts';
import { ALL_THERE, FleetRun, LOST_NOTHING } from './fleet-run.ts';
import { pause, resume } from './fleet-world.ts';

const HOUR_MS = 3_600_000;
const LATE_ROWS = isLong ? 5000 : 200;

describeWithNats('nothing of a fleet with one server is lost', () => {
  let run: FleetRun;
  beforeAll(async () => {
    run = await FleetRun.start(1);
  });
  afterAll(() => run?.end());

  test('when one hub after the other is killed', async () => {
    const outcome = await run.under('kill -9 of each hub', async () => {
      for (const hub of run.world.hubs) {
        await hub.stop('SIGKILL');
        await run.passes(1000);
        await hub.launch();
      }
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });

  test('when a hub stops for longer than the broker waits for it', async () => {
    const outcome = await run.under('SIGSTOP of a hub 7 s', async () => {
      pause(run.world.hub(0));
      await run.passes(7000);
      resume(run.world.hub(0));
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });

  test('when both hubs are killed', async () => {
    const outcome = await run.under('kill -9 of both hubs', async () => {
      await Promise.all(run.world.hubs.map((hub) => hub.stop('SIGKILL')));
      await Promise.all(run.world.hubs.map((hub) => hub.launch()));
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });

  test('when a Mac and one machine of a pair are killed, and when they stop', async () => {
    const names = ['m2', 'm1-a'];
    const killed = await run.under('kill -9 of m2 and of one of the pair', async () => {
      const services = names.map((name) => run.world.machine(name).service);
      await Promise.all(services.map((service) => service.stop('SIGKILL')));
      await run.passes(1000);
      await Promise.all(services.map((service) => service.launch()));
    });
    expect(killed).toMatchObject(ALL_THERE);
    const stopped = await run.under('SIGSTOP of m2 and of one of the pair 5 s', async () => {
      for (const name of names) pause(run.world.machine(name).service);
      await run.passes(5000);
      for (const name of names) resume(run.world.machine(name).service);
    });
    expect(stopped).toMatchObject(ALL_THERE);
  });

  test('when one machine of a pair gets an hour of messages late, at once, in another order', async () => {
    const outcome = await run.under(`pair: ${LATE_ROWS} rows an hour late in another order`, async () => {
      const { world } = run;
      const other = world.machine('m1-b');
      await other.service.stop('SIGKILL');
      run.only = 'm1-a';
      const start = world.written.length;
      const first = Date.now() - HOUR_MS;
      world.machine('m1-a').database.transaction(() => {
        for (let row = 0; row < LATE_ROWS; row += 1) world.write('m1', { only: 'm1-a', atMs: first + row });
      });
      await run.passes(1000);
      run.only = undefined;
      const missed = world.written.slice(start).filter(({ member }) => member === 'm1');
      other.database.transaction(() => {
        for (const row of missed.toReversed()) world.copy(row, other);
      });
      await other.service.launch();
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });

  test('when the server is killed for 3 s', async () => {
    const outcome = await run.under('server killed for 3 s', async () => {
      const server = await run.world.leader();
      await server.stop();
      await run.passes(3000);
      await server.start();
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });

  test('when the stream is deleted', async () => {
    const outcome = await run.under(
      'stream deleted',
      async () => {
        await run.world.ask((jsm) => jsm.streams.delete(EVENTS));
        await run.world.createStreams();
      },
      { rewinds: true },
    );
    expect(outcome).toMatchObject(LOST_NOTHING);
  });

  test('when all stores are deleted', async () => {
    const outcome = await run.under(
      'all stores deleted',
      async () => {
        const server = await run.world.leader();
        await server.deleteStore();
        await server.start();
        await run.world.createStreams();
      },
      { rewinds: true },
    );
    expect(outcome).toMatchObject(LOST_NOTHING);
  });

  test.each([
    ['store restored from an old copy', ''],
    ['messages restored, state of consumers newer', 'msgs'],
  ])('%s', async (name, part) => {
    const copy = await run.world.backUp();
    const outcome = await run.under(
      name,
      async () => {
        await run.passes(3000);
        await run.world.restore(copy, part === '' ? '' : join(run.world.streamFolder(), part));
      },
      { rewinds: true },
    );
    expect(outcome).toMatchObject(LOST_NOTHING);
  });

  test('when everything is killed at once', async () => {
    const outcome = await run.under('SIGKILL of everything at once', async () => {
      const { servers, hubs, machines } = run.world;
      const services = [...hubs, ...machines.flatMap(({ service }) => service ?? [])];
      await Promise.all([...servers.map((one) => one.stop()), ...services.map((one) => one.stop('SIGKILL'))]);
      await Promise.all(servers.map((server) => server.start()));
      await Promise.all(services.map((service) => service.launch()));
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });
});

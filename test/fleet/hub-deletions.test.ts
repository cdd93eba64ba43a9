import { expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { BUCKETS, SENDS } from '../../src/features/fleet/protocol/layout.ts';
import { writePair } from '../../src/features/fleet/protocol/streams.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { clientOf } from '../support/fleet-mac.ts';
import { Line } from '../support/line.ts';
import { LossyFleet } from '../support/lossy-fleet.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { KEY } from '../support/service.ts';

describeWithNats('a hub whose broker', () => {
  const fleet = new LossyFleet();

  test('forgot a Mac while the hub was cut off forgets it too, without a restart', async () => {
    const line = fleet.closing(await Line.to(fleet.server.port));
    const hub = await fleet.hubAt(line.url);
    const macsAre = (ids: readonly string[]) =>
      eventually(async () => expect((await hub.client.status()).macs?.map(({ id }) => id)).toEqual(ids));
    await fleet.m1.announce();
    await fleet.m2.announce();
    await macsAre(['m1', 'm2']);
    line.cut(true);
    await eventually(async () => expect((await hub.client.health()).backend.connected).toBe(false));
    const nc = await clientOf(fleet.server);
    await (await new Kvm(nc).open(BUCKETS.macs)).delete('m2');
    await nc.close();
    line.cut(false);
    await hub.connected();
    await macsAre(['m1']);
  });

  test.each([
    ['queue of sends', SENDS.stream, {}],
    ['bucket for their keys', `KV_${BUCKETS.outcomes}`, { 'Idempotency-Key': 'k1' }],
  ])('has no %s answers that nothing was sent', async (_, stream, key) => {
    const hub = await fleet.hubAt();
    await fleet.m1.answer('attachmentMistakes', { result: [] });
    const nc = await clientOf(fleet.server);
    await (await jetstreamManager(nc)).streams.delete(stream);
    await nc.close();
    await eventually(async () => {
      // A Mac that was silent for too long would count as away.
      await fleet.m1.announce();
      const answer = await fetch(`${hub.api}/messages`, {
        method: 'POST',
        headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json', ...key },
        body: JSON.stringify({ recipient: '+15550100', body: 'x', from: 'm1' }),
      });
      expect([answer.status, await answer.json()]).toMatchObject([503, { code: 'broker_away' }]);
    });
    expect(hub.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('names a pair while hub.db is locked stays connected, and adds the pair once it can', async () => {
    const hub = await fleet.hubAt();
    await fleet.m1.announce();
    await eventually(async () => expect((await hub.client.status()).macs).toHaveLength(1));
    const locked = openSqlite(hub.databasePath);
    locked.exec('BEGIN EXCLUSIVE');
    const nc = await clientOf(fleet.server);
    await writePair(await jetstreamManager(nc), { mac: 'm1', standby: 'm2', sinceMs: Date.now() });
    await nc.close();
    const warnings = () => hub.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    await waitFor(() => warnings().includes('the Macs of the fleet cannot be read, retrying'));
    locked.exec('ROLLBACK');
    locked.close();
    await eventually(async () => expect((await hub.client.status()).macs?.[0]?.pair).toBe('m1'));
    expect(warnings()).not.toContain('the connection to the broker was lost, reconnecting');
  });
});

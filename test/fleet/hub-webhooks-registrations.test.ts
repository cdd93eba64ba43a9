import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type KV, Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { newStoredWebhook } from '../../src/domain/webhook-settings.ts';
import { HubSeal, type Registration, registrationCodec } from '../../src/fleet/hub/webhooks/registration.ts';
import { Registrations } from '../../src/fleet/hub/webhooks/registrations.ts';
import { WriteBack } from '../../src/fleet/hub/webhooks/write-back.ts';
import { Envelope, hubKeys, newFleetKeyLine } from '../../src/fleet/protocol/envelope.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';

const ID = '6f1c2f0e-7e0e-4c7e-9d55-2b1f8f6f0a11';
const codec = registrationCodec(new HubSeal(new Envelope(hubKeys(newFleetKeyLine()))));

function registration(holder: string, after: string, version = 1): Registration {
  const given = { url: 'http://127.0.0.1/secret-path', events: ['message.received'] as const };
  const { offset: _, ...webhook } = newStoredWebhook(ID, given, { rowId: 0, change: 0 }, 0);
  return { version, holder, history: 'h', webhook, after };
}

describeWithNats('registrations of a fleet', () => {
  let server: NatsServer;
  let nc: NatsConnection;
  let bucket: KV;
  const clock = new FakeClock();
  const log = collectingLog();
  const open: Registrations[] = [];

  beforeAll(async () => {
    server = await NatsServer.start();
    nc = await connect({ servers: server.url });
  });
  afterAll(async () => {
    await nc.close();
    await server.dispose();
  });
  beforeEach(async () => {
    bucket = await new Kvm(nc).create('webhooks');
  });
  afterEach(async () => {
    for (const registrations of open.splice(0)) registrations.close();
    await bucket.destroy();
  });

  async function follow(): Promise<Registrations> {
    const registrations = new Registrations({
      bucket: () => Promise.resolve(bucket),
      codec,
      clock,
      log,
      onChange: () => undefined,
    });
    open.push(registrations);
    registrations.start();
    await eventually(() => expect(registrations.isComplete).toBe(true));
    return registrations;
  }

  /** Lets the hubs look, until it is so. */
  const until = (isSo: () => unknown): Promise<void> =>
    eventually(async () => {
      await clock.advance(1000);
      await isSo();
    });
  const stored = async (): Promise<Registration | undefined> => {
    const entry = await bucket.get(ID);
    return entry?.operation === 'PUT' ? codec.decode(ID, entry.value) : undefined;
  };

  test('a hub that lost a webhook cannot move it, and one whose write had no answer can', async () => {
    const [one, two] = [await follow(), await follow()];
    let superseded = 0;
    const writer = (registrations: Registrations, lease: string, after: string, revision: number): WriteBack =>
      new WriteBack(
        {
          ...{ id: ID, lease, registrations, clock, log },
          current: () => registration(lease, after),
          onSuperseded: () => {
            superseded += 1;
          },
        },
        revision,
      );
    const first = writer(one, 'one', '10', 0);
    await first.flush();
    // As if the answer to a write had been lost.
    await one.write(ID, registration('one', '20'), (await bucket.get(ID))?.revision ?? 0);
    await first.flush();
    expect(superseded).toBe(0);
    const taken = await two.write(ID, registration('two', '30'), (await bucket.get(ID))?.revision ?? 0);
    await expect(first.flush()).rejects.toThrow('another hub');
    await expect(first.remove()).rejects.toThrow('no longer');
    expect(superseded).toBe(1);
    expect(await stored()).toMatchObject({ holder: 'two', after: '30' });
    expect((await bucket.get(ID))?.revision).toBe(taken);
  });

  test('what the broker lost comes back, and what is newer or was removed stays as it is', async () => {
    const one = await follow();
    await one.write(ID, registration('one', '10'), 0);
    for (let version = 2; version <= 5; version += 1) {
      await one.write(ID, registration('one', String(version)), one.get(ID)?.revision ?? 0);
    }
    // An older version than the hub knows, as of a server that lost what it had acknowledged.
    await bucket.put(ID, codec.encode(ID, registration('one', 'old', 2)));
    await until(async () => expect(await stored()).toMatchObject({ version: 5, after: '5' }));
    await bucket.put(ID, codec.encode(ID, registration('two', 'new', 9)));
    await until(() => expect(one.get(ID)?.registration.version).toBe(9));
    expect(await stored()).toMatchObject({ version: 9 });
    // Nothing of it is left.
    await bucket.destroy();
    bucket = await new Kvm(nc).create('webhooks');
    await until(async () => expect(await stored()).toMatchObject({ version: 9, after: 'new' }));
    await until(() => expect(one.get(ID)?.revision).toBe(1));
    expect(await one.remove(ID, 1)).toBe(true);
    await bucket.put(ID, codec.encode(ID, registration('two', 'again', 20)));
    await until(async () => expect(await stored()).toBeUndefined());
    expect(one.list()).toEqual([]);
  });

  test('what no hub wrote is left out, and nothing of it is in the log', async () => {
    const one = await follow();
    await bucket.put(ID, '{"secret-text": ');
    const other = new HubSeal(new Envelope());
    await bucket.put('a', other.seal(['webhook', 'a'], { url: 'secret-text' }));
    await bucket.put('b', codec.encode('a', registration('one', 'secret-text')));
    await bucket.put('c', codec.encode('c', registration('one', 'secret-text')));
    await until(() => expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(4));
    expect(one.list()).toEqual([]);
    expect(JSON.stringify(log.lines.map(({ fields }) => String(fields.error)))).not.toContain('secret');
  });
});

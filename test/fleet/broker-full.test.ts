import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { FleetMac } from '../support/fleet-mac.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { KEY } from '../support/service.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

describeWithNats('a broker whose storage is full', () => {
  test('refuses sends with 503, with and without a key, and the Mac reports that its events wait', async () => {
    const store = JSON.stringify(mkdtempSync(join(folder, 'store-')));
    const server = await NatsServer.start(`jetstream { store_dir: ${store}, max_file_store: 400KB }`);
    await server.createFleet(['m1', 'm2']);
    const agent = await StandInAgent.connect(server.url, 'm1');
    await agent.answer('attachmentMistakes', { result: [] });
    const hub = await HubFixture.start([server.url]);
    await agent.announce();
    await eventually(async () => expect((await hub.client.status()).macs?.map(({ id }) => id)).toEqual(['m1']));
    await eventually(() => expect(agent.publishRaw('x'.repeat(30_000))).rejects.toThrow(/resource/));
    await eventually(() => expect(agent.publishRaw('x')).rejects.toThrow(/resource/));
    for (const key of [{ 'Idempotency-Key': 'k1' }, {}]) {
      const answer = await fetch(`${hub.api}/messages`, {
        method: 'POST',
        headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json', ...key },
        body: JSON.stringify({ recipient: '+15550100', body: 'hello', from: 'm1' }),
      });
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'broker_full']);
    }
    const mac = new FleetMac(join(folder, 'm2'), { servers: [server.url], mac: 'm2' });
    await mac.start();
    mac.write('one');
    await eventually(async () => {
      const { backend } = (await mac.get('/health')) as { backend: { message: string } };
      expect(backend.message).toContain('Events wait to be published to the fleet: insufficient');
    });
    await mac.dispose();
    await agent.close();
    await hub.dispose();
    await server.dispose();
  });
});

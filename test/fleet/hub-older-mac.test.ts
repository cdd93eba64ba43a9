import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { headers as newHeaders } from '@nats-io/nats-core';
import { Envelope, hubKeys } from '../../src/features/fleet/protocol/envelope.ts';
import { HEADERS } from '../../src/features/fleet/protocol/layout.ts';
import { compare } from '../faults/harness.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf } from '../support/fleet-mac.ts';
import { eventsOf, hasEvents, listenTo, rowsOf } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

interface Published {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: string;
}

/** Messages that a Mac of an earlier build published, encrypted. No release has this build. */
const RECORDED = JSON.parse(
  readFileSync(new URL('../support/fleet-messages-2026-11-22.json', import.meta.url), 'utf8'),
) as { readonly contentKey: string; readonly presence: Published; readonly events: readonly Published[] };
const folder = temporaryFolder();

describeWithNats('a hub whose Macs are upgraded after it', () => {
  test('reads events of an earlier build, then of the upgraded Mac: none lost, repeated or out of order', async () => {
    const server = await NatsServer.forFleet(['m1']);
    const file = join(folder, 'content.key');
    writeFileSync(file, `${RECORDED.contentKey}\n`, { mode: 0o600 });
    const hub = await HubFixture.start([server.url], { content: 'encrypted', content_key_file: file });
    const listener = await listenTo(hub, '&after=0');
    const nc = await clientOf(server);
    for (const { subject, headers: given, data } of [...RECORDED.events, RECORDED.presence]) {
      const headers = newHeaders();
      for (const [name, value] of Object.entries(given)) headers.set(name, value);
      await jetstream(nc).publish(subject, Buffer.from(data, 'base64'), { headers });
    }
    await nc.close();
    await hasEvents(hub, rowsOf('m1', 1, 5));
    expect((await eventsOf(hub)).map(({ type, data }) => [type, data])).toMatchObject([
      ['message.received', { body: 'one', sender: '+15550100' }],
      ['message.received', { body: 'two, with ünicode \u{1F600}' }],
      ['message.sent', { body: 'three, my own', is_from_me: true }],
      ['reaction.added', { message_guid: 'G1', reaction_type: 'thumbs_up' }],
      ['message.received', { body: 'x'.repeat(500) }],
    ]);
    await eventually(async () => expect((await hub.client.status()).macs).toMatchObject([{ id: 'm1', open_holes: 0 }]));

    const keys = new Envelope(hubKeys(RECORDED.contentKey));
    const upgraded = await StandInAgent.connect(server.url, 'm1', keys, RECORDED.events[0]?.headers[HEADERS.epoch]);
    upgraded.follow({ sequence: RECORDED.events.length });
    await upgraded.publish(6, 8, 5);
    await upgraded.announce();
    await eventually(() => expect(listener.ids.at(-1)).toBe('m1~8'));
    const written = [1, 2, 3, 4, 5, 6, 7, 8];
    const nothing = { lost: [], repeats: 0, outOfOrder: 0, unknown: [] };
    expect(
      compare(
        written,
        listener.ids.map((id) => Number(id.slice('m1~'.length))),
      ),
    ).toEqual(nothing);
    expect((await hub.client.health()).backend.message).toBeNull();
    await upgraded.close();
    await hub.dispose();
    await server.dispose();
  });
});

import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { hasEvents, rowsOf } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';

const RULES = readFileSync('docs/fleet-alerts.yml', 'utf8');

describeWithNats('alarms of a fleet', () => {
  test('use only metrics that a hub has, and notice a webhook that is behind', async () => {
    const server = await NatsServer.forFleet(['m1']);
    const hub = await HubFixture.start([server.url]);
    const agent = await StandInAgent.connect(server.url, 'm1');
    const receiver = await Receiver.start();
    await agent.announce();
    await eventually(() => hub.client.addWebhook({ url: receiver.url, events: ['message.received'] }));
    const metrics = async (): Promise<string> =>
      (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
    await receiver.close();
    await agent.publish(1, 4);
    await hasEvents(hub, rowsOf('m1', 1, 4));
    await eventually(async () => expect(await metrics()).toMatch(/^postern_hub_webhook_backlog [1-4]$/m));
    await eventually(async () => expect(await metrics()).toMatch(/^postern_hub_stream_bytes [1-9]\d+$/m));
    const expressions = [...RULES.matchAll(/^ {8}expr: (.+)$/gm)].map(([, expression = '']) => expression);
    expect(expressions).toHaveLength([...RULES.matchAll(/^ {6}- alert: Postern\w+$/gm)].length);
    const there = await metrics();
    for (const name of expressions.flatMap((expression) => expression.match(/postern_\w+/g) ?? [''])) {
      expect([name, new RegExp(`^# TYPE ${name} `, 'm').test(there)]).toEqual([name, true]);
    }
    await hub.dispose();
    await agent.close();
    await server.dispose();
  });
});

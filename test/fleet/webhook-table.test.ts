import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { StreamTail } from '../../src/features/fleet/hub/stream-tail.ts';
import type { WebhookRecord } from '../../src/features/fleet/hub/webhook-record.ts';
import { WebhookTable } from '../../src/features/fleet/hub/webhook-table.ts';
import type { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';
import { collectingLog } from '../support/log.ts';
import { MemoryWebhooks } from '../support/memory-webhooks.ts';

describeWithNats("a hub's table of webhooks", () => {
  let fleet: TestFleet;
  const closers: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    fleet = await TestFleet.start([]);
  });
  afterAll(async () => {
    for (const close of closers) await close();
    await fleet.close();
  });

  function tableOver(connection: FleetConnection): WebhookTable {
    const parts = { connection, envelope: fleet.envelope, clock: systemClock, log: collectingLog() };
    const tail = new StreamTail(parts);
    const table = new WebhookTable({ ...parts, tail, onChange: () => undefined });
    table.start();
    closers.push(() => table.close().then(() => tail.close()));
    return table;
  }

  test('keeps a newer record of another hub, although the answer to its own change comes later', async () => {
    const hub = await fleet.hub('h1');
    let pass: (() => void) | undefined;
    let isHeld = false;
    const { js } = hub;
    const slow = Object.create(js, {
      publish: {
        async value(...asked: Parameters<typeof js.publish>) {
          const answer = await js.publish(...asked);
          if (isHeld) await new Promise<void>((resolve) => (pass = resolve));
          return answer;
        },
      },
    }) as typeof js;
    const slowHub = Object.create(hub, { js: { value: slow }, isConnected: { value: true } }) as FleetConnection;
    const table = tableOver(slowHub);
    const other = tableOver(await fleet.hub('h2'));
    const webhook = new MemoryWebhooks().add({ url: 'http://127.0.0.1/', events: ['message.received'] });
    const { id } = webhook;
    await table.create({ webhook, n: 1, stream: '', start: { after: 0 } });
    const named = (name: string) => (record: WebhookRecord) => ({ ...record, webhook: { ...record.webhook, name } });
    const shown = (of: WebhookTable): unknown => of.get(id)?.webhook.name;
    isHeld = true;
    const written = table.write(id, named('older'));
    await waitFor(() => shown(other) === 'older');
    await other.write(id, named('newer'));
    await waitFor(() => pass !== undefined && shown(table) === 'newer');
    pass?.();
    await written;
    expect(shown(table)).toBe('newer');
  });
});

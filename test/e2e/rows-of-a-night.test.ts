import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import { eventually } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp } from '../support/mcp-clients.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const CHAT = `any;-;${ANA}`;
const HOUR_MS = 3_600_000;
const STOPPED_MS = 1500;

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'good night' });
  await mac.command({ do: 'receive', from: BEN, text: 'see you' });
  service = await Service.start({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

/**
 * Stops the process, whose clocks keep running like those of a sleeping Mac, and runs `during` just before it wakes.
 */
async function sleepUntil(during: () => Promise<unknown>): Promise<void> {
  process.kill(service.pid, 'SIGSTOP');
  try {
    const fromMs = performance.now();
    await eventually(() => expect(performance.now() - fromMs).toBeGreaterThan(STOPPED_MS));
    await during();
  } finally {
    process.kill(service.pid, 'SIGCONT');
  }
}

test('a limited key gets every message of the night, although each row comes before its conversation', async () => {
  const { key } = await limitedKey(service, { preset: 'reader', read: [ANA] });
  const client = new PosternClient({ url: service.url, key });
  const { offset: after } = await client.trackedEvents();
  const lines = new AbortController();
  const streamed: unknown[] = [];
  const listening = (async () => {
    for await (const { data } of client.listen({ after, changes: true, signal: lines.signal })) streamed.push(data);
  })();
  const dateMs = Date.now() - 8 * HOUR_MS;
  const night = (from: string, text: string, hour: number, joinAfterMs: number) =>
    mac.command({ do: 'receive', from, text, dateMs: dateMs + hour * HOUR_MS, joinAfterMs });
  await sleepUntil(async () => {
    await night(ANA, 'at one', 1, 200);
    await night(BEN, 'of somebody else', 2, 200);
    await night(ANA, 'at three', 3, 150);
    await night(ANA, 'at four', 4, 0);
    await night(ANA, 'at five', 5, 100);
  });
  const expected = ['at one', 'at three', 'at four', 'at five'].map((body) => ({ body, conversation_id: CHAT }));
  await eventually(() => expect(streamed).toMatchObject(expected));
  lines.abort();
  await listening;
  const { events } = await client.trackedEvents({ after });
  expect(events.map(({ data }) => data)).toMatchObject(expected);
  const agent = await connectMcp('2026 over HTTP', service, key);
  // The stop was too short to count as a night.
  const { text } = await agent.call('events_poll', { after, late: true });
  await agent.close();
  expect(text.match(/at (?:one|three|four|five)/g)).toEqual(expected.map(({ body }) => body));
  expect(text).not.toContain('of somebody else');
});

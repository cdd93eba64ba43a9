import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import type { Message } from '../../src/core/model/message.ts';
import { eventually } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp } from '../support/mcp-clients.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const TEXT = 'Two\nlines';
/** Sets the clock of the service an hour forward at a signal. */
const CLOCK = fileURLToPath(new URL('../faults/set-clock.cjs', import.meta.url));

test('what an agent schedules is held, waits once it is approved, and goes out at its time', async () => {
  const mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'Tomorrow is my birthday' });
  const { chatDbPath, osascriptPath } = mac;
  const env = { NODE_OPTIONS: `--require ${CLOCK}` };
  const service = await Service.start({ chatDbPath, osascriptPath, env });
  const { key } = await limitedKey(service, { preset: 'assistant', read: [ANA], send: [ANA] });
  const client = await connectMcp('2026 over HTTP', service, key);
  const sent = async () =>
    ((await service.get('/messages')).json as readonly Message[]).filter(({ is_from_me: isMine }) => isMine);

  const at = new Date(Date.now() + 3_500_000).toISOString();
  const { structured } = await client.call('messages_send', { to: ANA, text: TEXT, send_at: at });
  const { state, approval_id: id } = structured;
  expect(state).toBe('held');
  expect((await client.call('scheduled_list')).text).toBe('No message is scheduled.');
  const { shown } = (await service.get(`/approvals/${String(id)}`)).json as { readonly shown: string };
  const waiting = client.call('approvals_wait', { id, timeout_s: 50 });
  expect((await service.post(`/approvals/${String(id)}/approve`, { shown })).status).toBe(200);
  expect((await waiting).structured.state).toBe('scheduled');
  const { text: listed } = await client.call('scheduled_list');
  expect(listed).toContain(`[${String(id)}] `);
  expect(listed).toMatch(/\n {4}Two\n {4}lines\n<\//);
  expect(listed).not.toContain('written by other people');
  expect(await sent()).toEqual([]);

  const scheduled = async () => (await service.get(`/scheduled/${String(id)}`)).json;
  process.kill(service.pid, 'SIGUSR2');
  await eventually(async () => expect(await scheduled()).not.toMatchObject({ state: 'scheduled' }));
  // The simulated Mac keeps its clock, and a send takes only a row that is dated like itself.
  process.kill(service.pid, 'SIGUSR2');
  await eventually(async () => expect(await scheduled()).toMatchObject({ state: 'sent', text: null }));
  expect(await sent()).toMatchObject([{ body: TEXT }]);
  expect((await client.call('scheduled_list')).text).toBe('No message is scheduled.');
  await client.close();
  await service.dispose();
  await mac.dispose();
});

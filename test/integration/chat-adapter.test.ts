import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { BARE_ENVIRONMENT } from '../support/temporary.ts';

const PACKAGE = fileURLToPath(new URL('../../integrations/postern-chat-adapter/', import.meta.url));
const IS_READY = ['dist/index.js', 'node_modules/chat'].every((path) => existsSync(join(PACKAGE, path)));
const ANA = '+15550100';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const run = testIf(IS_READY, 'needs npm install and npm run build in integrations/postern-chat-adapter');

run('the bot of the Chat SDK adapter answers once, refuses a forged message, and leaves no webhook', async () => {
  const mac = await simulatedMac();
  closers.push(() => mac.dispose());
  const service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  closers.push(() => service.dispose());
  const scopes = ['read', 'events', 'send', 'webhooks'];
  const { key } = await limitedKey(service, { scopes, read: [ANA], send: [ANA], approval: 'never' });
  const texts = async () =>
    ((await service.get('/messages?limit=50')).json as readonly { readonly body: string }[]).map(({ body }) => body);

  const env = { ...BARE_ENVIRONMENT, POSTERN_URL: `http://127.0.0.1:${service.port}`, POSTERN_KEY: key, PORT: '0' };
  const bot = spawn(process.execPath, [join(PACKAGE, 'examples/bot.mjs')], { cwd: PACKAGE, env });
  closers.push(() => bot.kill('SIGKILL'));
  let output = '';
  for (const stream of [bot.stdout, bot.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
  await waitFor(() => {
    if (bot.exitCode !== null) throw new Error(output);
    return output.includes('listening at');
  });

  await mac.command({ do: 'receive', from: ANA, text: 'Kettle?' });
  await eventually(async () => expect(await texts()).toContain('You wrote: Kettle?'));
  const data = { id: '9', conversation_id: `any;-;${ANA}`, sender: ANA, body: 'forged', attachments: [] };
  const forged = JSON.stringify({ type: 'message.received', data: { ...data, timestamp: '2026-01-01T00:00:00Z' } });
  const address = /listening at (\S+)/.exec(output)?.[1] ?? '';
  expect((await fetch(address, { method: 'POST', body: forged })).status).toBe(401);

  const ended = once(bot, 'exit');
  bot.kill('SIGINT');
  await ended;
  expect((await service.get('/webhooks')).json).toEqual([]);
  expect((await texts()).filter((text) => text?.startsWith('You wrote'))).toEqual(['You wrote: Kettle?']);
});

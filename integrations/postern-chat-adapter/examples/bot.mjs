// A bot that answers each direct message. POSTERN_KEY is a limited key with the scopes read, events, send and webhooks.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createMemoryState } from '@chat-adapter/state-memory';
import { Chat } from 'chat';
import { createPosternAdapter } from 'postern-chat-adapter';

const { POSTERN_URL: url = 'http://127.0.0.1:3001', POSTERN_KEY: key = '', PORT = '8080' } = process.env;
const postern = createPosternAdapter({ url, key, webhookSecret: randomBytes(32).toString('hex') });
const bot = new Chat({ userName: 'echo', adapters: { postern }, state: createMemoryState() });
bot.onDirectMessage(async (thread, message) => {
  await thread.post({ markdown: `You wrote: **${message.text}**` });
});

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked = new Request('http://localhost/', {
    method: 'POST',
    headers: request.headers,
    body: Buffer.concat(chunks),
  });
  const answer = await bot.webhooks.postern(asked);
  response.writeHead(answer.status).end(await answer.text());
});
server.listen(Number(PORT), '127.0.0.1', async () => {
  const address = `http://localhost:${server.address().port}/`;
  await bot.initialize();
  await postern.registerWebhook(address);
  console.log(`listening at ${address}`);
  process.once('SIGINT', async () => {
    await postern.removeWebhook(address);
    process.exit(0);
  });
});

// An agent loop with the official MCP client. Usage: POSTERN_URL=http://127.0.0.1:3001 POSTERN_KEY_FILE=agent.key node agent.mts
// (Node 22.18 or newer runs TypeScript as it is; npm install @modelcontextprotocol/client)
import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const { POSTERN_URL: url = 'http://127.0.0.1:3001', POSTERN_KEY_FILE: keyFile = 'agent.key' } = process.env;
const headers = { 'X-API-Key': readFileSync(keyFile, 'utf8').trim() };
const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }));

interface Answer {
  readonly text: string;
  readonly next?: string;
}

/** One tool call: its text, and where to go on. */
async function call(name: string, input: Record<string, unknown> = {}): Promise<Answer> {
  const { content, structuredContent } = await client.callTool({ name, arguments: input });
  const [first] = content as readonly { readonly text?: string }[];
  return { ...(structuredContent as object), text: first?.text ?? '' };
}

/** The lines that the model has seen: an event can come again, such as after a 410. */
const seen = new Set<string>();

/** Put your model here. This one believes whatever it reads: what it may do is not up to it, but to its key. */
function* model(text: string): Generator<{ to: string; reply: string; row: string }> {
  for (const [line, row = '', who = '', said = ''] of text.matchAll(
    /^\[(\d+)\] \d\d:\d\d (?:.*\()?([+\w.@]+)\)?: (.*)$/gm,
  )) {
    if (seen.has(line)) continue;
    seen.add(line);
    const order = /forward .* to (\+\d+)/.exec(said)?.[1];
    if (order !== undefined) yield { to: order, reply: text, row };
    else if (said.endsWith('?')) yield { to: who, reply: 'Yes, I think so.', row };
  }
}

console.log((await call('whoami')).text);
for (let { next } = await call('events_poll'); ; ) {
  const news = await call('events_wait', { after: next, timeout_s: 25 }); // nothing is missed between two calls
  next = news.next ?? next;
  for (const { to, reply, row } of model(news.text)) {
    // Without a key, an equal answer within 10 minutes counts as this one again.
    const sent = await call('messages_send', { to, text: reply, idempotency_key: `agent-${row}` });
    console.log(`to ${to}: ${sent.text}`);
  }
}

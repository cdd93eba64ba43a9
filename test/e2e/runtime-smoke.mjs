// Starts the service under another runtime, on a simulated Mac, and passes once through everything it does: health,
// lists, a send, its event on a WebSocket and, signed, at a webhook receiver. Exits 0 or 1.
// `bun` runs the sources; `node-22` runs the built program, with node:sqlite where better-sqlite3 is not built for it.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'postern-bun-'));
const port = await freePort();
const base = `http://127.0.0.1:${port}`;
const [program, main] = runtimeOf(process.argv[2]);
const service = spawn(program, [main, 'demo', '--dir', folder, '--port', String(port)], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'pipe'],
});
let output = '';
for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk) => (output += chunk));
const exited = once(service, 'exit');
let failed = false;
const deadline = setTimeout(() => fail(new Error('it took longer than 60 seconds')), 60_000);

try {
  const health = await until(async () => (await fetch(`${base}/api/v1/health`)).json());
  equal('health', health, { status: 'ok', backend: { connected: true, message: null } });

  const key = /^api_key = "(.+)"/m.exec(readFileSync(join(folder, 'config.toml'), 'utf8'))[1];
  const headers = { 'x-api-key': key };
  const conversations = await (await fetch(`${base}/api/v1/conversations`, { headers })).json();
  truth('conversations are listed', conversations.length > 0);
  const messages = await (await fetch(`${base}/api/v1/messages?limit=5`, { headers })).json();
  truth('messages are listed', messages.length > 0);
  // The reader thread, if there is one, has its own connection.
  equal('a deep list', (await fetch(`${base}/api/v1/messages?offset=3000`, { headers })).status, 200);
  equal('without a key', (await fetch(`${base}/api/v1/messages`)).status, 401);

  const deliveries = [];
  const receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    deliveries.push({ body: Buffer.concat(chunks), signature: request.headers['x-webhook-signature'] });
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const hook = await fetch(`${base}/api/v1/webhooks`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      url: `http://127.0.0.1:${receiver.address().port}/`,
      events: ['message.sent'],
      secret: 'shh',
    }),
  });
  equal('registering a webhook', hook.status, 201);

  const frames = [];
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/ws?api_key=${encodeURIComponent(key)}`);
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  await once(socket, 'open');

  const body = `Grüße 👋 "quoted" \n second line`;
  const sent = await fetch(`${base}/api/v1/messages`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ recipient: conversations[0].id, body }),
  });
  truth('sending', sent.status === 201 || sent.status === 202);
  const { id, body: sentBody } = await sent.json();
  equal('the body of the sent message', sentBody, body);
  const { data } = await until(() => frames.find((event) => event.type === 'message.sent' && event.data.body === body));
  // A 202 has no id, because the row may appear later than the answer.
  if (sent.status === 201) equal('the frame', data.id, id);
  const delivery = await until(() => deliveries.find(({ body: bytes }) => JSON.parse(bytes).data.id === data.id));
  equal(
    'the signature',
    delivery.signature,
    `sha256=${createHmac('sha256', 'shh').update(delivery.body).digest('hex')}`,
  );

  // Both generations of MCP, one answered as JSON and one as a stream.
  const made = await fetch(`${base}/api/v1/keys`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'agent', preset: 'reader', read: '*' }),
  });
  const agent = { 'x-api-key': (await made.json()).key, 'content-type': 'application/json' };
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'smoke', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  for (const _meta of [envelope, undefined]) {
    const asked = await fetch(`${base}/mcp`, {
      method: 'POST',
      headers: {
        ...agent,
        accept: 'application/json, text/event-stream',
        ...(_meta && {
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'messages_read',
        }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'messages_read', arguments: {}, ...(_meta && { _meta }) },
      }),
    });
    truth('an agent reads over MCP', (await asked.text()).includes('Grüße 👋'));
  }

  // Over the Unix socket: a plain answer and a WebSocket.
  const place = ['--config-dir', folder];
  const [statusCode] = await once(spawn(program, [main, 'status', ...place], { cwd: root, stdio: 'ignore' }), 'exit');
  equal('the exit code of status over the Unix socket', statusCode, 0);
  const tail = spawn(program, [main, 'tail', '--json', '--after', '0', ...place], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [first] = await once(tail.stdout, 'data');
  truth('tail prints an event over the Unix socket', String(first).startsWith('{"type":'));
  tail.kill('SIGKILL');

  socket.close();
  receiver.close();
  receiver.closeAllConnections();
  service.kill('SIGTERM');
  const [code] = await exited;
  equal('the exit code', code, 0);
  const library = /sqlite[":= ]+([\w:-]+)/.exec(output)?.[1];
  console.log(
    `the service runs under ${process.argv[2]} with ${library}: health, lists, send, WebSocket event, signed webhook, MCP, Unix socket, exit`,
  );
} catch (error) {
  fail(error);
} finally {
  clearTimeout(deadline);
  if (service.exitCode === null) service.kill('SIGKILL');
  await exited;
  rmSync(folder, { recursive: true, force: true });
  process.exit(failed ? 1 : 0);
}

function runtimeOf(name) {
  if (name === 'bun') return [join(root, 'test/support/programs/node_modules/.bin/bun'), 'src/main.ts'];
  const packages = join(root, 'test/support/programs/node_modules');
  const found =
    name === 'node-22' &&
    existsSync(packages) &&
    readdirSync(packages).find((one) => /^node-(?:linux|darwin|bin-darwin)-/.test(one));
  if (found) return [join(packages, found, 'bin/node'), 'dist/main.js'];
  throw new Error('usage: runtime-smoke.mjs bun|node-22 (the latter after: make test)');
}

function fail(error) {
  failed = true;
  console.error(error);
  console.error(output);
  service.kill('SIGKILL');
}

function truth(what, holds) {
  if (!holds) throw new Error(`not so: ${what}`);
}

function equal(what, actual, expected) {
  if (JSON.stringify(actual) === JSON.stringify(expected)) return;
  throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

async function until(look) {
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      if (service.exitCode !== null) throw error;
    }
    if (failed) throw new Error('given up');
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return free;
}

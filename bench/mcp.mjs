// What an agent pays: the first call of a service, a read against the REST API, and tokens a message.
import { Agent, request } from 'node:http';
import { fenced } from '../dist/src/mcp/text/fence.js';
import { Labels } from '../dist/src/mcp/text/labels.js';
import { DayLines } from '../dist/src/mcp/text/lines.js';
import { LocalTime } from '../dist/src/mcp/text/times.js';
import { Chance, chatter } from '../dist/src/simulator/chatter.js';
import { sideBySide, summary } from './figures.mjs';
import { KEY, startService } from './service.mjs';

/** Of Claude and GPT alike, near enough: characters a token of such text. */
const CHARACTERS_A_TOKEN = 4;
const MESSAGES = 50;
const MEAN_CHARACTERS = 34;
const MODERN = '2026-07-28';

export async function mcpRows(path, { rounds, roundMs }) {
  const settings = '[mcp]\nallow_owner_key = true\n';
  const first = [];
  for (let round = 0; round < Math.min(rounds, 5); round += 1) {
    const service = await startService(path, { settings });
    const agent = new Agent({ keepAlive: true });
    // The connection and the route are warm, so that what is left is the protocol.
    await get(service.port, agent, '/api/v1/messages?limit=1');
    const firstMs = await timed(() => call(service.port, agent, 'whoami', {}));
    const later = [];
    for (let again = 0; again < 20; again += 1) later.push(await timed(() => call(service.port, agent, 'whoami', {})));
    first.push(firstMs - summary(later).median);
    agent.destroy();
    await service.stop();
  }
  const service = await startService(path, { settings });
  const agent = new Agent({ keepAlive: true });
  try {
    const read = (limit) => call(service.port, agent, 'messages_read', { limit });
    const [mcp, rest] = await sideBySide(
      [() => read(20), () => get(service.port, agent, '/api/v1/messages?limit=20')],
      { rounds, roundMs },
    );
    return [
      {
        what: 'MCP: first call of a service, over a later one',
        postern: summary(first),
        unit: 'ms',
        bound: 150,
      },
      {
        what: 'MCP: messages_read of 20',
        rival: 'GET /messages, in turn',
        postern: scaled(mcp),
        rivals: scaled(rest),
        unit: 'ms',
        ratio: mcp.median / rest.median,
        note: `${((mcp.median - rest.median) / 1000).toFixed(2)} ms over it; to reach: 3`,
      },
      tokenRow(),
    ];
  } finally {
    agent.destroy();
    await service.stop();
  }
}

/** A conversation of three people, an answer every ten minutes, 34 characters each on average. */
function tokenRow() {
  const chance = new Chance(1);
  const bodies = [];
  while (bodies.length < MESSAGES) {
    const left = MEAN_CHARACTERS * (bodies.length + 1) - bodies.join('').length;
    bodies.push(chatter(chance).replaceAll('\n', ' ').padEnd(left, '.').slice(0, left));
  }
  const lines = new DayLines({
    labels: new Labels((address) => ({ '+4915112345678': 'Ana' })[address]),
    time: new LocalTime('Europe/Berlin'),
    groupName: () => 'Garden',
    conversationId: 'any;+;chat42',
  });
  for (const [at, body] of bodies.entries()) {
    lines.message({
      id: String(120_000 + at),
      conversation_id: 'any;+;chat42',
      sender: at % 3 === 0 ? '+4915112345678' : '+4917112345679',
      body,
      attachments: [],
      timestamp: new Date(Date.UTC(2026, 0, 2, 20) + at * 600_000).toISOString(),
      is_from_me: at % 4 === 0,
      status: 'read',
    });
  }
  const tokens = fenced(lines.text).length / CHARACTERS_A_TOKEN / MESSAGES;
  return {
    what: `MCP: ${MESSAGES} messages of ${MEAN_CHARACTERS} characters each, as a model is given them`,
    postern: { median: tokens, low: tokens, high: tokens },
    unit: 'tokens a message',
    bound: 16,
  };
}

function scaled({ median, low, high }) {
  return { median: median / 1000, low: low / 1000, high: high / 1000 };
}

async function timed(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

/** A tool call of the present generation, as its client sends it. */
async function call(port, agent, name, input) {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name, arguments: input, _meta: envelope };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': MODERN,
    'Mcp-Method': 'tools/call',
    'Mcp-Name': name,
  };
  const answer = JSON.parse(await ask(port, agent, 'POST', '/mcp', headers, body));
  if (answer.result?.structuredContent === undefined) throw new Error(JSON.stringify(answer));
  return answer;
}

function get(port, agent, path) {
  return ask(port, agent, 'GET', path, {});
}

function ask(port, agent, method, path, headers, body) {
  return new Promise((resolve, reject) => {
    const asked = request(
      { port, host: '127.0.0.1', path, method, agent, headers: { 'X-API-Key': KEY, ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk) => (text += chunk));
        answer.on('end', () => resolve(text));
        answer.on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

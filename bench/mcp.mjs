// Measures what an agent pays: the first call after a start, a read compared with the REST API, and tokens per message.
import { Agent, request } from 'node:http';
import { fenced } from '../dist/src/core/tools/fence.js';
import { LocalTime } from '../dist/src/core/tools/times.js';
import { Labels } from '../dist/src/features/mcp/text/labels.js';
import { DayLines } from '../dist/src/features/mcp/text/lines.js';
import { Chance, chatter } from '../dist/src/features/simulator/chatter.js';
import { summary } from './figures.mjs';
import { cpuMs } from './live-process.mjs';
import { KEY, startService } from './service.mjs';

/** Characters per token of such text, roughly, for both Claude and GPT. */
const CHARACTERS_A_TOKEN = 4;
const MESSAGES = 50;
const MEAN_CHARACTERS = 34;
const MODERN = '2026-07-28';

export async function mcpRows(path, { rounds, roundMs }) {
  const settings = '[mcp]\nallow_owner_key = true\n';
  const first = [];
  const spent = [];
  for (let round = 0; round < Math.min(rounds, 5); round += 1) {
    const service = await startService(path, { settings });
    const agent = new Agent({ keepAlive: true });
    // Warms up the connection and the route, so that only the protocol is measured.
    await get(service.port, agent, '/api/v1/messages?limit=1');
    const whoami = () => call(service.port, agent, 'whoami', {});
    let firstMs;
    const firstSpentMs = await spentMs(service.pid, async () => {
      firstMs = await timed(whoami);
    });
    spent.push(firstSpentMs - (await spentMs(service.pid, whoami, 20)));
    const later = [];
    for (let again = 0; again < 20; again += 1) later.push(await timed(whoami));
    first.push(firstMs - summary(later).median);
    agent.destroy();
    await service.stop();
  }
  const service = await startService(path, { settings });
  const agent = new Agent({ keepAlive: true });
  try {
    const read = (limit) => call(service.port, agent, 'messages_read', { limit });
    const both = [() => read(20), () => get(service.port, agent, '/api/v1/messages?limit=20&include=details')];
    const measured = both.map(() => []);
    for (let round = 0; round <= rounds; round += 1) {
      for (const [which, run] of both.entries()) {
        const callMs = await spentMs(service.pid, run, Math.round(roundMs / 2));
        if (round > 0) measured[which].push(callMs);
      }
    }
    const [mcp, rest] = measured.map(summary);
    return [
      {
        what: 'MCP: first call of a service, over a later one',
        postern: summary(spent),
        unit: 'ms of processor time',
        bound: 150,
        note: `${summary(first).median.toFixed(0)} ms by the clock`,
      },
      {
        what: 'MCP: messages_read of 20, over GET /messages with details in turn',
        postern: minus(mcp, rest),
        unit: 'ms of processor time',
        bound: 3,
        note: `${mcp.median.toPrecision(3)} against ${rest.median.toPrecision(3)} ms`,
      },
      tokenRow(),
    ];
  } finally {
    agent.destroy();
    await service.stop();
  }
}

/**
 * Counts the tokens of an invented conversation: three people, an answer every ten minutes, 34 characters each on
 * average.
 */
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

/** Returns how much longer the first takes than the second. */
function minus(one, other) {
  const [median, low, high] = ['median', 'low', 'high'].map((which) => one[which] - other[which]);
  return { median, low: Math.min(low, high), high: Math.max(low, high) };
}

/** Returns the service's processor time for one call, as the mean over `calls`. */
async function spentMs(pid, run, calls = 1) {
  const before = cpuMs(pid);
  for (let made = 0; made < calls; made += 1) await run();
  return (cpuMs(pid) - before) / calls;
}

async function timed(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

/** Makes a tool call of the current protocol version, as its client sends it. */
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

// Runs `make fleet` as a person would: reads what it prints, uses the fleet through the balancer, breaks things, and ends
// it with Ctrl+C. Exits 0 or 1. Needs nats-server; FLEET=3 takes a cluster of three.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const fleet = spawn(process.execPath, ['demo/fleet.mjs'], {
  cwd: root,
  stdio: ['pipe', 'pipe', 'inherit'],
  env: { ...process.env, PORT: '0' },
});
let output = '';
fleet.stdout.on('data', (chunk) => (output += chunk));
const exited = once(fleet, 'exit');
let failed = false;
const deadline = setTimeout(() => fail(new Error('it took longer than four minutes')), 240_000);

try {
  await until('the fleet starts', async () => output.includes('Ctrl+C ends it.') || fleet.exitCode !== null);
  const url = /curl .* (http:\/\/127\.0\.0\.1:\d+)\/api/.exec(output)?.[1] ?? '';
  const folder = /Everything is in (\S+)\.\n/.exec(output)?.[1] ?? '';
  const key = readFileSync(`${folder}/key`, 'utf8').trim();
  const ask = (path, { body, mac, ...options } = {}) =>
    fetch(`${url}${mac === undefined ? '' : `/macs/${mac}`}/api/v1/${path}`, {
      ...options,
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      // A new connection for each request, so that the balancer alternates between the hubs.
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json', Connection: 'close', ...options.headers },
    });
  const json = async (path, options) => (await ask(path, options)).json();

  for (let turn = 0; turn < 2; turn += 1) {
    const macs = await json('macs');
    equal('Macs of a hub', macs.map(({ id, state }) => `${id} ${state}`).sort(), [
      'm1 present',
      'm2 present',
      'm3 present',
    ]);
  }
  const listed = await json('conversations?limit=9');
  equal('Macs in one list', new Set(listed.map(({ mac }) => mac)).size, 3);

  const deliveries = [];
  const receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    deliveries.push(JSON.parse(Buffer.concat(chunks)));
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const target = `http://127.0.0.1:${receiver.address().port}/`;
  await until('a webhook is registered', async () => {
    const { status } = await ask('webhooks', { body: { url: target, events: ['message.sent'] } });
    return status === 201;
  });

  const unclear = await ask('messages', { body: { recipient: '+15550100', body: 'From whom?' } });
  equal('a send without a Mac', [unclear.status, (await unclear.json()).code], [404, 'mac_needed']);
  const text = 'Hello from m2 alone';
  const send = { mac: 'm2', body: { recipient: '+15550100', body: text }, headers: { 'Idempotency-Key': 'once' } };
  const sent = [await json('messages', send), await json('messages', send)];
  equal('one key at two hubs', sent[1].guid, sent[0].guid);
  await until('the webhook gets it', async () => deliveries.some(({ data }) => data.body === text));
  equal('the webhook gets it once', deliveries.filter(({ data }) => data.body === text).length, 1);
  let events = [];
  await until('a hub lists its event', async () => {
    events = (await json('events?after=0&limit=1000')).filter(({ data }) => data.body === text);
    return events.length > 0;
  });
  equal('its events', events.length, 1);
  const byId = await json(`messages/${events[0].data.id}`, { mac: 'm2' });
  equal('the message by the id of its event', byId.body, text);

  fleet.stdin.write('kill hub-1\n');
  await until('requests continue without hub-1', async () => output.includes('hub-1: kill'));
  for (let turn = 0; turn < 4; turn += 1) equal('a request', (await ask('status')).status, 200);
  fleet.stdin.write('kill m3\n');
  await until('m3 is away', async () => (await ask('status', { mac: 'm3' })).status === 503);
  equal('a list without m3', (await ask('conversations')).status, 200);
  fleet.stdin.write('start m3\n');
  await until('m3 is back', async () => (await ask('status', { mac: 'm3' })).status === 200);
  fleet.stdin.write('kill m1-a\n');
  await until('m1 answers by its other machine', async () => (await ask('status', { mac: 'm1' })).status === 200);
  const server = process.env.FLEET === '3' ? 'nats-2' : 'nats';
  fleet.stdin.write(`kill ${server}\nstart ${server}\n`);
  await until('sends continue with the servers', async () => {
    const { status } = await ask('messages', { mac: 'm2', body: { recipient: '+15550100', body: 'Still here' } });
    return status === 201;
  });

  fleet.kill('SIGINT');
  equal('its end', await exited, [0, null]);
  equal('its folder is gone', existsSync(folder), false);
  receiver.close();
} catch (error) {
  fail(error);
} finally {
  clearTimeout(deadline);
  if (fleet.exitCode === null && fleet.signalCode === null) fleet.kill('SIGINT');
  await exited;
}
console.log(failed ? 'FAILED' : 'the fleet does what it should');
process.exit(failed ? 1 : 0);

function equal(what, found, expected) {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what}: ${one}, not ${other}`);
  console.log(`ok: ${what}`);
}

async function until(what, ask) {
  for (;;) {
    if (failed) throw new Error(`${what}: stopped`);
    if (await ask().catch(() => false)) return console.log(`ok: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function fail(error) {
  failed = true;
  console.error(error.message);
}

// Measures what a fleet costs. One nats-server, one Mac and one hub, each its own process, are compared with the Mac's
// own API.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimulatedMac } from '../dist/src/features/simulator/mac.js';
import { sideBySide, summary } from './figures.mjs';
import { hasBroker, startBroker } from './fleet-broker.mjs';
import { withCopy } from './live-copy.mjs';
import { cpuMs, residentMiB, startProcess, wait } from './live-process.mjs';
import { KEY, startService } from './service.mjs';

const MAC = 'bench';
const LONG = { rounds: 3, rows: 3000, backlog: 50_000, memoryRounds: 5, sends: 100, clients: 1000, singles: 50 };
const QUICK = { rounds: 1, rows: 300, backlog: 5000, memoryRounds: 1, sends: 10, clients: 100, singles: 5 };
/** Long enough for one event to reach everyone before the next. */
const EVERY_MS = 60;

/** Returns no rows if nats-server is not installed. */
export async function fleetRows(path, { isQuick, ...effort }) {
  if (!hasBroker()) return [];
  const sizes = isQuick ? QUICK : LONG;
  return [
    ...(await eventRows(path, sizes)),
    await memoryRow(path, sizes),
    await pageRow(path, effort),
    await sendRow(sizes),
    await clientsRow(path, sizes),
  ];
}

/** Runs `use` with a broker, a service on a copy in its fleet, a hub, and a writer. */
async function withFleet(path, use) {
  const broker = await startBroker();
  try {
    return await withCopy(path, { service: { settings: macSettings(broker) } }, async ({ keep, ...parts }) => {
      const hub = keep(await startHub(broker));
      await connected(parts.service);
      await isReached(hub);
      return use({ ...parts, keep, broker, hub });
    });
  } finally {
    await broker.stop();
  }
}

const macSettings = ({ file }) => `[fleet]\nfile = "${file(MAC)}"\nmachine = "a"\nbackfill_hours = 0\n`;
const startHub = ({ file }) => startService('/nowhere', { command: 'hub', settings: `[fleet]\nfile = "${file()}"\n` });

/**
 * Measures the time from a row's commit to its arrival at a WebSocket of the hub and of the Mac, and then a backlog.
 */
function eventRows(path, { rounds, rows, backlog }) {
  return withFleet(path, async ({ service, hub, writer, keep }) => {
    const readers = [
      keep(startProcess('live-listener.mjs', hub.socketUrl)),
      keep(startProcess('live-listener.mjs', service.socketUrl)),
    ];
    for (const reader of readers) await reader.ask('ready');
    const measured = readers.map(() => []);
    for (let round = 0; round <= rounds; round += 1) {
      const written = await writer.ask('trickle', { rows, meanMs: 1000 / 300 });
      for (const [which, reader] of readers.entries()) {
        const at = new Map((await reader.ask('until', written.at(-1).rowId)).map(({ rowId, atMs }) => [rowId, atMs]));
        if (round > 0) measured[which].push(written.map(({ rowId, atMs }) => at.get(rowId) - atMs));
      }
    }
    const latency = (part, share, bound) => {
      const [fleet, local] = measured.map((all) => summary(all.map((one) => quantile(one, share))));
      return {
        what: `row committed → WebSocket frame of a hub, 300/s or fewer, ${part}`,
        rival: 'of the Mac itself',
        postern: fleet,
        rivals: local,
        unit: 'ms',
        ratio: fleet.median / local.median,
        bound,
      };
    };
    const { rowId, atMs } = await writer.ask('burst', backlog);
    const [far, near] = [await readers[0].ask('lastAt', rowId), await readers[1].ask('lastAt', rowId)];
    const perSecond = (end) => summary([(backlog * 1000) / (end.atMs - atMs)]);
    return [
      latency('p50', 0.5, 10),
      latency('p99', 0.99, 100),
      {
        what: `${backlog.toLocaleString('en')} rows of backlog to the hub’s WebSocket, in order`,
        rival: 'to the Mac’s',
        postern: perSecond(far),
        rivals: perSecond(near),
        unit: 'rows/s',
        isWrong: far.outOfOrder > 0,
      },
    ];
  });
}

/** Compares resident memory after the same events, with a fleet and without. */
async function memoryRow(path, { rows, memoryRounds }) {
  const measured = [[], []];
  for (let round = 0; round < memoryRounds; round += 1) {
    const used = async ({ service, writer }) => {
      await writer.ask('trickle', { rows, meanMs: 1000 / 300 });
      await wait(1000);
      return residentMiB(service.pid);
    };
    measured[0].push(await withFleet(path, used));
    measured[1].push(await withCopy(path, {}, used));
  }
  const [fleet, alone] = measured.map(summary);
  return {
    what: `memory that a fleet adds to the service, after ${rows} events`,
    rival: `${Math.round(alone.median)} MiB without, ${Math.round(fleet.median)} with`,
    postern: summary(measured[0].map((one) => one - alone.median)),
    unit: 'MiB',
    bound: 15,
  };
}

/** Requests a page of 50 messages from the hub and from the Mac itself. */
function pageRow(path, effort) {
  return withFleet(path, async ({ service, hub }) => {
    const page = (port, path) => async () => {
      const url = `http://127.0.0.1:${port}${path}/api/v1/messages?limit=50`;
      const answer = await fetch(url, { headers: { 'X-API-Key': KEY } });
      const found = await answer.json();
      if (found.length !== 50) throw new Error(`a page of ${found.length}`);
    };
    const [far, near] = await sideBySide([page(hub.port, `/macs/${MAC}`), page(service.port, '')], effort);
    return {
      what: 'HTTP: page of 50 messages through a hub',
      rival: 'at the Mac',
      postern: far,
      rivals: near,
      unit: 'µs',
      ratio: far.median / near.median,
      most: 3,
    };
  });
}

/** Measures sends at the hub, in turn with sends at the Mac itself. */
async function sendRow({ sends }) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-mac-'));
  const moduleFolder = new URL('../dist/src/features/simulator/', import.meta.url).pathname;
  const mac = new SimulatedMac({ dir: folder, moduleFolder });
  await mac.start();
  const broker = await startBroker();
  const service = await startService(mac.chatDbPath, {
    settings: macSettings(broker),
    osascriptPath: mac.osascriptPath,
  });
  const hub = await startHub(broker);
  try {
    await connected(service);
    await isReached(hub);
    const measured = [[], []];
    for (let send = 0; send <= sends; send += 1) {
      for (const [which, { post }] of [hub, service].entries()) {
        const started = performance.now();
        const body = { recipient: '+15550100', body: `${which} ${send}` };
        await post('/messages', body, which === 0 ? `/macs/${MAC}` : '');
        if (send > 0) measured[which].push(performance.now() - started);
      }
    }
    const [far, near] = measured.map(summary);
    return {
      what: 'what a hub adds to a send',
      rival: 'the send at the Mac',
      postern: summary(measured[0].map((ms) => ms - near.median)),
      rivals: near,
      unit: 'ms',
      ratio: far.median / near.median,
      bound: 25,
    };
  } finally {
    await hub.stop();
    await service.stop();
    await broker.stop();
    await mac.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Measures the processor time of one event to many WebSocket clients: at the hub, and at the Mac with as many clients.
 */
function clientsRow(path, { rounds, clients, singles }) {
  return withFleet(path, async ({ service, hub, writer, keep }) => {
    const groups = [hub, service].map((server) => ({
      server,
      sockets: keep(startProcess('live-clients-sockets.mjs')),
    }));
    for (const { server, sockets } of groups) await sockets.ask('connect', { url: server.socketUrl, clients });
    const measured = groups.map(() => []);
    for (let round = 0; round <= rounds; round += 1) {
      const before = groups.map(({ server }) => cpuMs(server.pid));
      const arrived = groups.map(({ sockets }) => sockets.ask('until', singles));
      await writer.ask('steady', { rows: singles, everyMs: EVERY_MS });
      await Promise.all(arrived);
      const spent = groups.map(({ server }, which) => (cpuMs(server.pid) - before[which]) / singles);
      if (round > 0) for (const [which, ms] of spent.entries()) measured[which].push(ms);
    }
    const [far, near] = measured.map(summary);
    return {
      what: `one event to ${clients.toLocaleString('en')} WebSocket clients of a hub`,
      rival: 'of the Mac, which publishes it too',
      postern: far,
      rivals: near,
      unit: 'ms of processor time',
      ratio: far.median / near.median,
      most: 1.3,
    };
  });
}

/** Waits until the hub is ready and reaches the Mac. */
async function isReached({ port }) {
  for (;;) {
    const paths = ['/ready', `/macs/${MAC}/api/v1/messages?limit=1`];
    const answers = await Promise.all(
      paths.map((path) => fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'X-API-Key': KEY } })),
    );
    for (const answer of answers) await answer.arrayBuffer();
    if (answers.every(({ ok }) => ok)) return;
    await wait(20);
  }
}

async function connected({ port }) {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/status`, { headers: { 'X-API-Key': KEY } });
    const { fleet } = await answer.json();
    if (fleet.state === 'connected' && fleet.published_row !== null) return;
    await wait(20);
  }
}

function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)];
}

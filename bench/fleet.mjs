// What it costs to be part of a fleet: one nats-server, one Mac, and a reader of the stream in place of a hub.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { FleetConnection } from '../dist/src/fleet/connection.js';
import { Envelope } from '../dist/src/fleet/envelope.js';
import { outcomeSubject, sendSubject } from '../dist/src/fleet/layout.js';
import { ask } from '../dist/src/fleet/requests.js';
import { encodeOrder, keyHash, unpackOutcome } from '../dist/src/fleet/sends.js';
import { systemClock } from '../dist/src/runtime/clock.js';
import { SimulatedMac } from '../dist/src/simulator/mac.js';
import { sideBySide, summary } from './figures.mjs';
import { hasBroker, startBroker } from './fleet-broker.mjs';
import { withCopy } from './live-copy.mjs';
import { residentMiB, startProcess, wait } from './live-process.mjs';
import { KEY, startService } from './service.mjs';

const MAC = 'bench';
const LONG = { rounds: 3, rows: 3000, backlog: 50_000, memoryRounds: 5, sends: 100 };
const QUICK = { rounds: 1, rows: 300, backlog: 5000, memoryRounds: 1, sends: 10 };

/** None where there is no nats-server. */
export async function fleetRows(path, { isQuick, ...effort }) {
  if (!hasBroker()) return [];
  const sizes = isQuick ? QUICK : LONG;
  return [
    ...(await eventRows(path, sizes)),
    await memoryRow(path, sizes),
    await pageRow(path, effort),
    await sendRow(sizes),
  ];
}

/** Runs `use` with a broker, a service on a copy in its fleet, and a writer. */
async function withFleet(path, use) {
  const broker = await startBroker(MAC);
  try {
    const settings = `[fleet]\nservers = ["${broker.url}"]\nmac = "${MAC}"\nbackfill_hours = 0\n`;
    return await withCopy(path, { service: { settings } }, (parts) => use({ ...parts, broker }));
  } finally {
    await broker.stop();
  }
}

/** From the commit of a row to its arrival at a reader of the stream, and at a local WebSocket; then a backlog. */
function eventRows(path, { rounds, rows, backlog }) {
  return withFleet(path, async ({ service, writer, keep, broker }) => {
    const readers = [
      keep(startProcess('fleet-reader.mjs', broker.url)),
      keep(startProcess('live-listener.mjs', service.socketUrl)),
    ];
    for (const reader of readers) await reader.ask('ready');
    await connected(service);
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
        what: `row committed → stream → reader of it, at most 300/s, ${part}`,
        rival: 'local WebSocket frame',
        postern: fleet,
        rivals: local,
        unit: 'ms',
        ratio: fleet.median / local.median,
        bound,
      };
    };
    const { rowId, atMs } = await writer.ask('burst', backlog);
    const inStream = await readers[0].ask('lastAt', rowId);
    const inSocket = await readers[1].ask('lastAt', rowId);
    const perSecond = (end) => summary([(backlog * 1000) / (end.atMs - atMs)]);
    return [
      latency('p50', 0.5, 10),
      latency('p99', 0.99, 100),
      {
        what: `${backlog.toLocaleString('en')} rows of backlog into the stream, in order`,
        rival: 'to a local WebSocket',
        postern: perSecond(inStream),
        rivals: perSecond(inSocket),
        unit: 'rows/s',
        isWrong: inStream.outOfOrder > 0,
      },
    ];
  });
}

/** Resident memory after the same events, with a fleet and without. */
async function memoryRow(path, { rows, memoryRounds }) {
  const measured = [[], []];
  for (let round = 0; round < memoryRounds; round += 1) {
    const used = async ({ service, writer }) => {
      await writer.ask('trickle', { rows, meanMs: 1000 / 300 });
      await wait(1000);
      return residentMiB(service.pid);
    };
    const inFleet = async (parts) => {
      await connected(parts.service);
      return used(parts);
    };
    measured[0].push(await withFleet(path, inFleet));
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

/** A page of 50 messages: asked of the Mac through the broker, and of its own API. */
function pageRow(path, effort) {
  return withFleet(path, async ({ service, broker }) => {
    await connected(service);
    const hub = new FleetConnection(
      { servers: [broker.url], keyFile: '', caFile: '' },
      { clock: systemClock, log: silent, name: 'HUB.bench' },
    );
    await new Promise((resolve) => hub.onConnect(resolve));
    const request = { order: 'desc', limit: 50, offset: 0 };
    const question = { mac: MAC, operation: 'listMessages', request, timeoutMs: 5000 };
    const url = `http://127.0.0.1:${service.port}/api/v1/messages?limit=50`;
    const [far, near] = await sideBySide(
      [
        () => ask(hub, new Envelope(), systemClock, question),
        async () => (await fetch(url, { headers: { 'X-API-Key': KEY } })).json(),
      ],
      effort,
    );
    await hub.close();
    return {
      what: 'page of 50 messages, asked of the Mac through the broker',
      rival: 'its own HTTP',
      postern: far,
      rivals: near,
      unit: 'µs',
      ratio: far.median / near.median,
      most: 3,
    };
  });
}

/** A send through the work queue until its outcome is known, and over the local API. */
async function sendRow({ sends }) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-mac-'));
  const moduleFolder = new URL('../dist/src/simulator/', import.meta.url).pathname;
  const mac = new SimulatedMac({ dir: folder, moduleFolder });
  await mac.start();
  const broker = await startBroker(MAC);
  const settings = `[fleet]\nservers = ["${broker.url}"]\nmac = "${MAC}"\n`;
  const service = await startService(mac.chatDbPath, { settings, osascriptPath: mac.osascriptPath });
  try {
    await connected(service);
    const envelope = new Envelope();
    const js = jetstream(broker.nc);
    const ways = [
      async (key, request) => {
        const outcome = broker.nc.subscribe(outcomeSubject(MAC, keyHash(key)), { max: 1 });
        const order = { key, deadlineMs: Date.now() + 60_000, request };
        const { headers, body } = encodeOrder(MAC, order, key, envelope);
        await js.publish(sendSubject(MAC), body, { headers });
        for await (const { data } of outcome) return unpackOutcome(envelope, MAC, key, data).reply.result.confirmed;
      },
      async (_key, request) => {
        await service.post('/messages', request);
        return true;
      },
    ];
    const measured = ways.map(() => []);
    for (let send = 0; send <= sends; send += 1) {
      for (const [which, way] of ways.entries()) {
        const started = performance.now();
        const isSent = await way(`bench-${send}`, { recipient: '+15550100', body: `${which} ${send}` });
        if (!isSent) throw new Error('a send was not confirmed');
        if (send > 0) measured[which].push(performance.now() - started);
      }
    }
    const [far, near] = measured.map(summary);
    return {
      what: 'what the work queue adds to a send, p50',
      rival: 'the local send itself',
      postern: summary(measured[0].map((ms) => ms - near.median)),
      rivals: near,
      unit: 'ms',
      ratio: far.median / near.median,
      bound: 25,
    };
  } finally {
    await service.stop();
    await broker.stop();
    await mac.stop();
    rmSync(folder, { recursive: true, force: true });
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

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

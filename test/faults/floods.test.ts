import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { KEY, type Service } from '../support/service.ts';
import { Harness, openFiles } from './harness.ts';

let harness: Harness;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await harness.end();
});

const MAX_GROWTH_MIB = 50;
const MAX_HEALTH_MS = 1000;

/** Returns a process's largest resident memory since `resetPeak`, in MiB. */
function peakMiB(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Resets the peak (proc(5), clear_refs). */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Sends `text` on a new connection and never reads. */
function flood(service: Service, text: string): Socket {
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(text);
  clients.push(socket);
  return socket;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\n\r\n`;

/** Returns the processor time of a process so far, in steps of 10 ms (proc(5), stat). */
function processorMs(pid: number): number {
  const [, user = '', system = ''] =
    /\) (?:\S+ ){11}(\d+) (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  return (Number(user) + Number(system)) * 10;
}

/**
 * Returns the slowest of 40 requests in a row: its duration, or the processor time of the service meanwhile if that is
 * less, because the rest is the work of other processes.
 */
async function slowestHealthMs(service: Service): Promise<number> {
  let slowestMs = 0;
  for (let count = 0; count < 40; count += 1) {
    const startedAtMs = performance.now();
    const workedMs = processorMs(service.pid);
    // `fetch` keeps its connection. A new one would wait until the service has accepted all those of the flood.
    const health = await fetch(`${service.url}/health`, { headers: { 'x-api-key': KEY } });
    await health.arrayBuffer();
    expect(health.status).toBe(200);
    const tookMs = performance.now() - startedAtMs;
    slowestMs = Math.max(slowestMs, Math.min(tookMs, processorMs(service.pid) - workedMs + 10));
  }
  return slowestMs;
}

/** Measures memory and health while `begin` runs: both stay far below what one request of each flood would cost. */
async function expectUnimpressed(service: Service, begin: () => void, maxGrowthMiB = MAX_GROWTH_MIB): Promise<void> {
  // Creates everything that is created only once, so that it is not measured.
  for (const path of ['/health', '/messages?limit=200']) await service.get(path);
  for (const path of ['/docs/swagger-ui-bundle.js', '/openapi.json']) {
    await (await fetch(`http://127.0.0.1:${service.port}${path}`)).arrayBuffer();
  }
  const usualMs = await slowestHealthMs(service);
  resetPeak(service.pid);
  const before = peakMiB(service.pid);
  begin();
  const slowestMs = await slowestHealthMs(service);
  const growth = peakMiB(service.pid) - before;
  console.log(`peak of resident memory +${growth.toFixed(1)} MiB, slowest health ${slowestMs.toFixed(0)} ms`);
  expect(growth).toBeLessThan(maxGrowthMiB);
  expect(slowestMs).toBeLessThan(MAX_HEALTH_MS + 10 * usualMs);
}

test('2,000 pipelined requests for a large page, never read, take neither memory nor time', async () => {
  harness = new Harness();
  const service = await harness.start();
  const text = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1000);
  await expectUnimpressed(service, () => {
    flood(service, text);
    flood(service, text);
  });
});

test('600 pipelined requests for the OpenAPI document take no time', async () => {
  harness = new Harness();
  const service = await harness.start();
  await expectUnimpressed(service, () => {
    flood(service, 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(600));
  });
});

test('5 connections with 1,000 pipelined requests each, never read, take neither memory nor time', async () => {
  harness = new Harness();
  const service = await harness.start();
  const text = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1000);
  await expectUnimpressed(service, () => {
    for (let client = 0; client < 5; client += 1) flood(service, text);
  });
});

test('2,000 pipelined lists with a key, never read, take neither memory nor time', async () => {
  harness = new Harness();
  for (let row = 0; row < 200; row += 1) harness.database.message({ chat: 1, text: 'x'.repeat(1000), handle_id: 1 });
  const service = await harness.start();
  await expectUnimpressed(service, () => {
    flood(service, get('/api/v1/messages?limit=200').repeat(2000));
  });
});

test('200 downloads, read by half, take half a MiB each, and their files are closed', async () => {
  harness = new Harness();
  const file = join(dirname(harness.path), 'Attachments/a.bin');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  truncateSync(file, 64 * 1024 * 1024);
  const rowId = harness.database.message({ chat: 1, text: 'a file', handle_id: 1 });
  harness.database.attach(rowId, file);
  const service = await harness.start();
  const files = openFiles(service.pid);
  // Allows half a MiB for each client: the part of a file that is read before the kernel's buffer is full becomes
  // garbage, and V8 decides when to collect it.
  const begin = (): void => {
    for (let client = 0; client < 200; client += 1) flood(service, get(`/api/v1/messages/${rowId}/attachments/0`));
  };
  await expectUnimpressed(service, begin, 100);
  await eventually(() => expect(openFiles(service.pid)).toBeGreaterThanOrEqual(files + 200));
  for (const client of clients) client.destroy();
  await eventually(() => expect(openFiles(service.pid)).toBeLessThanOrEqual(files + 5));
});

// Measures reads over HTTP. The service, the bare server and the loader each have their own process.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { summary } from './figures.mjs';
import { questions } from './reader.mjs';
import { KEY, startService } from './service.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;

export async function httpRows(path, { rounds, loadMs }) {
  const rows = [];
  const service = await startService(path);
  try {
    for (const [at, { name, url }] of questions(path).entries()) {
      const isOne = name.startsWith('one ');
      const rivals = await Promise.all(
        (isOne ? ['tinyhttp', 'node:http'] : ['node:http']).map((kind) => startRival(kind, path, at)),
      );
      const servers = [service, ...rivals];
      const measured = servers.map(() => []);
      for (let round = 0; round <= rounds; round += 1) {
        for (const [which, { port }] of servers.entries()) {
          const perSecond = await load(port, `/api/v1${url}`, loadMs);
          if (round > 0) measured[which].push(perSecond);
        }
      }
      for (const rival of rivals) rival.stop();
      const [postern, ...others] = measured.map(summary);
      for (const [which, other] of others.entries()) {
        rows.push({
          what: `HTTP: ${name}`,
          rival: `bare ${rivals[which].kind}`,
          postern,
          rivals: other,
          unit: 'requests/s',
          ratio: postern.median / other.median,
          least: which === 0 ? (isOne ? 0.7 : 0.75) : undefined,
        });
      }
    }
  } finally {
    await service.stop();
  }
  return rows;
}

/** Returns the requests per second that a separate loader process gets answered. */
export async function load(port, path, forMs, key = KEY) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    here('load.mjs'),
    String(port),
    path,
    key,
    String(forMs),
  ]);
  return Number(stdout);
}

async function startRival(kind, path, at) {
  const child = spawn(process.execPath, [here('http-rival.mjs'), kind, path, String(at)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { kind, port: Number(String(line)), stop: () => child.kill() };
}

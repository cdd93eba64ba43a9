// Measures what the service costs while nothing happens.
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { cpuMs, residentMiB, startProcess, wait } from './live-process.mjs';

const SETTLES_MS = 2000;

export function idleRows(path, { idleMs }) {
  return withCopy(path, {}, async ({ service, keep }) => {
    const empty = keep(startProcess('live-idle-rival.mjs'));
    await wait(SETTLES_MS);
    const pids = [service.pid, empty.pid];
    const before = pids.map(cpuMs);
    const started = performance.now();
    await wait(idleMs);
    const passedMs = performance.now() - started;
    const [ourCpu, theirCpu] = pids.map((pid, at) => summary([((cpuMs(pid) - before[at]) / passedMs) * 100]));
    const [ourMemory, theirMemory] = pids.map((pid) => summary([residentMiB(pid)]));
    const rival = 'an empty node:http server';
    const what = `idle for ${Math.round(idleMs / 1000)} s at 1000 ms`;
    return [
      { what: `${what}: processor`, rival, postern: ourCpu, rivals: theirCpu, unit: '% of a core', bound: 0.3 },
      {
        what: `${what}: resident memory`,
        rival,
        postern: ourMemory,
        rivals: theirMemory,
        unit: 'MiB',
        ratio: ourMemory.median / theirMemory.median,
        most: 2.2,
      },
    ];
  });
}

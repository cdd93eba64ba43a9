// Measures the time from the start of the process to its first healthy answer.
import { spawnSync } from 'node:child_process';
import { summary } from './figures.mjs';
import { startService } from './service.mjs';

export async function startRows(path, { rounds }) {
  const ours = [];
  const theirs = [];
  for (let round = 0; round <= rounds; round += 1) {
    const bareMs = timed(() => spawnSync(process.execPath, ['-e', '0']));
    const service = await startService(path);
    await service.stop();
    if (round === 0) continue;
    theirs.push(bareMs);
    ours.push(service.startedWithinMs - bareMs);
  }
  return [
    {
      what: 'process start → first healthy answer, on top of the rival',
      rival: 'node -e 0',
      postern: summary(ours),
      rivals: summary(theirs),
      unit: 'ms',
      bound: 300,
    },
  ];
}

function timed(run) {
  const started = performance.now();
  run();
  return performance.now() - started;
}

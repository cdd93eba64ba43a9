// A reader thread that exits silently at its first calls, as often as `workerData.home` says.
import { existsSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

parentPort.on('message', (call) => {
  for (let crash = 1; crash <= Number(workerData.home); crash += 1) {
    const mark = `${workerData.path}.${crash}`;
    if (existsSync(mark)) continue;
    writeFileSync(mark, '');
    process.exit(1);
  }
  parentPort.postMessage({ id: call.id, value: call.args[0] });
});

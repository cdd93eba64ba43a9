// A reader thread that exits silently at its first calls, as often as `workerData.database.home` says.
import { existsSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

parentPort.on('message', (call) => {
  for (let crash = 1; crash <= Number(workerData.database.home); crash += 1) {
    const mark = `${workerData.database.path}.${crash}`;
    if (existsSync(mark)) continue;
    writeFileSync(mark, '');
    process.exit(1);
  }
  parentPort.postMessage({ id: call.id, value: call.args[0] });
});

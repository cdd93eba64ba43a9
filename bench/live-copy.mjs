// Runs a measurement with a copy of a database, the service on it, and a writer. Removes all of it at the end.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from './live-process.mjs';
import { startService } from './service.mjs';

export async function withCopy(path, { synchronous = 'NORMAL', service: options }, use) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-live-'));
  const copy = join(folder, 'chat.db');
  copyFileSync(path, copy);
  const started = [];
  const keep = (one) => {
    started.push(one);
    return one;
  };
  try {
    const writer = keep(startProcess('live-writer.mjs', copy, synchronous));
    await writer.ask('newest');
    const service = keep(await startService(copy, options));
    return await use({ path: copy, service, writer, keep });
  } finally {
    for (const one of started.reverse()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

// Measures the archive: the processor time of each piece of work, in its own process.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summary } from './figures.mjs';

const RUN = new URL('./archive-run.mjs', import.meta.url).pathname;

/** Runs each piece of work in turn, `rounds` times. A million rows take a minute, so three rounds are enough. */
export function archiveRows(path, { rounds }) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-archive-'));
  const ran = new Map();
  const run = (round, work, place = work) => {
    const args = [RUN, work, path, join(folder, String(round), place.replace(':', '-'))];
    const answer = JSON.parse(
      execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    ran.set(work, [...(ran.get(work) ?? []), answer]);
  };
  try {
    // Nothing is deleted between rounds: for some minutes ext4 looks at each deleted file before it makes a new one.
    for (let round = 0; round < rounds; round += 1) {
      mkdirSync(join(folder, String(round)));
      for (const work of ['details', 'export', 'sql', 'naive', 'export:html']) run(round, work);
      run(round, 'verify', 'export');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const rate = (work) => summary(ran.get(work).map(({ rows, cpuS }) => rows / cpuS));
  const memory = (work) => summary(ran.get(work).map(({ mb }) => mb));
  const messages = ran.get('details')[0].rows.toLocaleString('en');
  const beside = (what, work, rival, name, bounds = {}) => {
    const [postern, rivals] = [rate(work), rate(rival)];
    return { what, rival: name, postern, rivals, unit: 'rows/s', ratio: postern.median / rivals.median, ...bounds };
  };
  return [
    beside(`export of ${messages} rows, no attachments, no pages`, 'export', 'details', 'the same details alone', {
      least: 0.6,
    }),
    beside('export', 'export', 'sql', 'plain SQL: bare columns into one file'),
    beside('export', 'export', 'naive', 'naive exporter: a JSON file for each conversation'),
    beside('export with pages', 'export:html', 'export', 'without pages'),
    {
      what: 'export: memory at most',
      rival: 'naive exporter',
      postern: memory('export'),
      rivals: memory('naive'),
      unit: 'MB',
      bound: 200,
    },
    { what: 'export with pages: memory at most', postern: memory('export:html'), unit: 'MB', bound: 200 },
    { what: 'export verify', postern: rate('verify'), unit: 'lines/s' },
    { what: 'export verify: memory at most', postern: memory('verify'), unit: 'MB', bound: 200 },
  ];
}

// Measures how fast one WebSocket client that resumed from a position receives many rows of one transaction.
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { residentMiB, startProcess } from './live-process.mjs';

export function catchUpRows(path, { rounds, rows }) {
  return withCopy(path, {}, async ({ path: copy, service, writer, keep }) => {
    const before = await writer.ask('newest');
    const listener = keep(startProcess('live-listener.mjs', `${service.socketUrl}&after=${before}`));
    await listener.ask('ready');
    const rival = keep(startProcess('live-catch-up-rival.mjs', copy));
    const ours = [];
    const theirs = [];
    for (let round = 0; round < rounds; round += 1) {
      const after = await writer.ask('newest');
      const committed = await writer.ask('burst', rows);
      const arrived = await listener.ask('lastAt', committed.rowId);
      if (arrived.count !== rows) throw new Error(`${arrived.count} of ${rows} events arrived`);
      ours.push((rows * 1000) / (arrived.atMs - committed.atMs));
      theirs.push(await rival.ask('rowsPerSecond', { after, rows }));
    }
    const [postern, rivals] = [summary(ours), summary(theirs)];
    const what = `${rows.toLocaleString('en')} rows in one transaction → a WebSocket client with ?after=`;
    const ofService = (part) => summary([residentMiB(service.pid, part)]);
    return [
      {
        what,
        rival: 'reading and stringifying in a loop',
        postern,
        rivals,
        unit: 'rows/s',
        ratio: postern.median / rivals.median,
        least: 0.45,
      },
      { what: `${what}, highest resident memory`, postern: ofService('VmHWM'), unit: 'MiB', bound: 150 },
    ];
  });
}

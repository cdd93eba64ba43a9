// Compares a thousand clients of Server-Sent Events with as many WebSocket clients: the service's processor time for
// them.
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { cpuMs, startProcess } from './live-process.mjs';
import { KEY } from './service.mjs';

/** Long enough for one event to reach everyone before the next. */
const EVERY_MS = 60;

/** Measures the two kinds in turn, each at its own service. */
export async function streamRows(path, { rounds, clients, events, singles }) {
  const streams = { bursts: [], alone: [] };
  const sockets = { bursts: [], alone: [] };
  const eventsOf = ({ port }) => ({ url: `http://127.0.0.1:${port}/api/v1/events`, key: KEY });
  await withClients(path, clients, eventsOf, async (ours) => {
    await withClients(
      path,
      clients,
      ({ socketUrl }) => ({ url: socketUrl }),
      async (theirs) => {
        for (let round = 0; round <= rounds; round += 1) {
          for (const [side, measured] of [
            [ours, streams],
            [theirs, sockets],
          ]) {
            const burst = await side.spent(events, (writer) => writer.ask('burst', events));
            const oneByOne = { rows: singles, everyMs: EVERY_MS };
            const alone = await side.spent(singles, (writer) => writer.ask('steady', oneByOne));
            if (round === 0) continue;
            measured.bursts.push(burst);
            measured.alone.push(alone);
          }
        }
      },
    );
  });
  const row = (what, which) => {
    const [postern, rivals] = [summary(streams[which]), summary(sockets[which])];
    return {
      what: `${clients.toLocaleString('en')} clients of Server-Sent Events: ${what}`,
      rival: 'as many WebSocket clients, in turn',
      postern,
      rivals,
      unit: 'ms of processor time',
      ratio: postern.median / rivals.median,
      most: 1.3,
    };
  };
  return [row(`${events} events in a burst`, 'bursts'), row(`${singles} events, one at a time`, 'alone')];
}

function withClients(path, clients, addressOf, use) {
  return withCopy(path, {}, async ({ service, writer, keep }) => {
    const group = keep(startProcess('live-clients-sockets.mjs'));
    await group.ask('connect', { ...addressOf(service), clients });
    return use({
      async spent(count, write) {
        const before = cpuMs(service.pid);
        await Promise.all([group.ask('until', count), write(writer)]);
        return cpuMs(service.pid) - before;
      },
    });
  });
}

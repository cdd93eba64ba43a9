// Measures the server's processor time for a thousand WebSocket clients.
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { cpuMs, startProcess } from './live-process.mjs';

/** Long enough for one event to reach everyone before the next. */
const EVERY_MS = 60;

export function clientRows(path, { rounds, clients, events, singles }) {
  return withCopy(path, {}, async ({ service, writer, keep }) => {
    const rival = keep(startProcess('live-clients-rival.mjs'));
    const rivalUrl = `ws://127.0.0.1:${await rival.ask('port')}/`;
    const [ourClients, rivalClients] = [
      keep(startProcess('live-clients-sockets.mjs')),
      keep(startProcess('live-clients-sockets.mjs')),
    ];
    await ourClients.ask('connect', { url: service.socketUrl, clients });
    await rivalClients.ask('connect', { url: rivalUrl, clients });

    const spent = async (pid, group, count, send) => {
      const before = cpuMs(pid);
      await Promise.all([group.ask('until', count), send()]);
      return cpuMs(pid) - before;
    };
    /** Measures both servers for one way of sending `count` events. */
    const both = async (count, byUs, byThem) => [
      await spent(service.pid, ourClients, count, byUs),
      await spent(rival.pid, rivalClients, count, byThem),
    ];
    const one = await ourClients.ask('sample', await writer.ask('burst', 1));
    await rival.ask('text', one);

    const bursts = [];
    const alone = [];
    for (let round = 0; round <= rounds; round += 1) {
      const burst = await both(
        events,
        () => writer.ask('burst', events),
        () => rival.ask('burst', events),
      );
      const oneByOne = { rows: singles, everyMs: EVERY_MS };
      const single = await both(
        singles,
        () => writer.ask('steady', oneByOne),
        () => rival.ask('steady', oneByOne),
      );
      if (round === 0) continue;
      bursts.push(burst);
      alone.push(single);
    }
    const row = (what, measured, least) => {
      const [ours, theirs] = [0, 1].map((which) => summary(measured.map((pair) => pair[which])));
      return {
        what: `${clients.toLocaleString('en')} WebSocket clients: ${what}`,
        rival: 'bare ws, send() to each',
        postern: ours,
        rivals: theirs,
        unit: 'ms of processor time',
        ratio: theirs.median / ours.median,
        least,
        note: 'the ratio is the rival’s by ours',
      };
    };
    return [row(`${events} events in a burst`, bursts, 3), row(`${singles} events, one at a time`, alone, 0.75)];
  });
}

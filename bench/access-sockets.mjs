// Measures many WebSocket clients with limited keys, each with its own list: the service's processor time for one
// event.
import { asked, newKey } from './access.mjs';
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { cpuMs, startProcess } from './live-process.mjs';

/** Long enough for one event to reach everyone before the next. */
const EVERY_MS = 200;
/** WRITER is the person in the conversation that the events belong to. NOBODY is in no conversation. */
const WRITER = '+15551000000';
const NOBODY = '+15550009999';

/** Measures in turn three groups of clients: all keys may read the events, no key may, and all use the owner's key. */
export async function limitedSocketRows(path, { rounds, clients, singles }) {
  const [all, none, owner] = [[], [], []];
  await withSockets(path, clients, WRITER, async (limited) => {
    await withSockets(path, clients, NOBODY, async (unlisted) => {
      await withSockets(path, clients, undefined, async (owners) => {
        for (let round = 0; round <= rounds; round += 1) {
          for (const [service, measured] of [
            [limited, all],
            [unlisted, none],
            [owners, owner],
          ]) {
            const spent = await service.spent(singles);
            if (round > 0) measured.push(spent);
          }
        }
      });
    });
  });
  const row = (what, measured) => ({
    what: `${clients.toLocaleString('en')} WebSocket clients with limited keys and lists of their own: ${what}`,
    rival: 'as many with the owner’s key, in turn',
    postern: summary(measured),
    rivals: summary(owner),
    unit: 'ms of processor time an event',
    ratio: summary(measured).median / summary(owner).median,
  });
  return [row('one event, which all of them may read', all), row('one event, which none of them may read', none)];
}

/**
 * Runs `use` with a service that has this many clients. Each key's list contains `listed`; if undefined, the clients
 * use the owner's key.
 */
function withSockets(path, clients, listed, use) {
  return withCopy(path, {}, async ({ service, writer, keep }) => {
    const sockets = keep(startProcess('live-clients-sockets.mjs'));
    // A client with the owner's key shows when the event has gone out, even if no other client receives it.
    const witness = keep(startProcess('live-clients-sockets.mjs'));
    await witness.ask('connect', { url: service.socketUrl, clients: 1 });
    const urls = [];
    while (urls.length < clients) urls.push(await socketUrl(service, listed, urls.length));
    await sockets.ask('connect', { urls });
    const isTold = listed !== NOBODY;
    return use({
      async spent(events) {
        const before = cpuMs(service.pid);
        await Promise.all([
          witness.ask('until', events),
          ...(isTold ? [sockets.ask('until', events)] : []),
          writer.ask('steady', { rows: events, everyMs: EVERY_MS }),
        ]);
        return (cpuMs(service.pid) - before) / events;
      },
    });
  });
}

async function socketUrl(service, listed, number) {
  if (listed === undefined) return service.socketUrl;
  const { key } = await asked(service, '/keys', newKey([listed, `+1444${String(number).padStart(7, '0')}`]));
  return `ws://127.0.0.1:${service.port}/api/v1/ws?api_key=${key}`;
}

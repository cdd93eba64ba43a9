// Many WebSocket clients with limited keys, each with a list of its own: the processor time of the service for an event.
import { asked, newKey } from './access.mjs';
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { cpuMs, startProcess } from './live-process.mjs';

/** Long enough for one event to reach everyone before the next. */
const EVERY_MS = 200;
/** The person in the conversation that is written to, and one who is in none. */
const WRITER = '+15551000000';
const NOBODY = '+15550009999';

/** In turn: all of the keys may read what is written, none may, and as many clients with the owner's key. */
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

/** A service with so many clients. `listed` is in the list of each; undefined: they have the owner's key. */
function withSockets(path, clients, listed, use) {
  return withCopy(path, {}, async ({ service, writer, keep }) => {
    const sockets = keep(startProcess('live-clients-sockets.mjs'));
    // One with the owner's key tells that the event has gone out.
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

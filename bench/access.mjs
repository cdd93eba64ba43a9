// Compares limited keys with the owner's over HTTP: the service's processor time for one request.
import { summary } from './figures.mjs';
import { load } from './http.mjs';
import { cpuMs } from './live-process.mjs';
import { KEY, startService } from './service.mjs';

const CHATS = 20;

export async function accessRows(path, { rounds, loadMs }) {
  const service = await startService(path);
  try {
    const chats = (await asked(service, '/conversations?limit=200')).map(({ id }) => id);
    // Leaves out conversations that cannot be listed, such as those with a short code.
    const { errors = [] } = await asked(service, '/keys', newKey(chats.concat('nobody')));
    const wrong = new Set(errors.map(({ pointer }) => Number(pointer.split('/')[2])));
    const listed = chats.filter((_, index) => !wrong.has(index)).slice(0, CHATS);
    const { key } = await asked(service, '/keys', newKey(listed));
    const [message] = await asked(service, '/messages?limit=1', { key });
    const rows = [];
    for (const [what, route, most] of [
      ['one message by id', `/messages/${message.id}`, 1.25],
      [`newest 50 messages, of ${listed.length} listed conversations`, '/messages', 3],
    ]) {
      const measured = [[], []];
      for (let round = 0; round <= rounds; round += 1) {
        for (const [which, one] of [key, KEY].entries()) {
          const before = cpuMs(service.pid);
          const perSecond = await load(service.port, `/api/v1${route}`, loadMs, one);
          const spentMs = cpuMs(service.pid) - before;
          if (round > 0) measured[which].push((spentMs * 1000 * 1000) / (perSecond * loadMs));
        }
      }
      const [limited, owner] = measured.map(summary);
      rows.push({
        what: `HTTP, limited key: ${what}`,
        rival: 'the same with the owner’s key, in turn',
        postern: limited,
        rivals: owner,
        unit: 'µs of processor time',
        ratio: limited.median / owner.median,
        most,
      });
    }
    return rows;
  } finally {
    await service.stop();
  }
}

/** Returns the service's answer to a GET, or with `body` to a POST. */
export async function asked(service, route, { body, key = KEY } = {}) {
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1${route}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-API-Key': key, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return answer.json();
}

export function newKey(read) {
  return { body: { name: 'bench', preset: 'reader', read } };
}

// What a limited key costs beside the owner's, over HTTP.
import { summary } from './figures.mjs';
import { load } from './http.mjs';
import { KEY, startService } from './service.mjs';

const CHATS = 20;

export async function accessRows(path, { rounds, loadMs }) {
  const service = await startService(path);
  const ask = async (route, { method = 'GET', body, key = KEY } = {}) => {
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1${route}`, {
      method,
      headers: { 'X-API-Key': key, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json() };
  };
  try {
    const chats = (await ask('/conversations?limit=200')).body.map(({ id }) => id);
    const make = (read) => ask('/keys', { method: 'POST', body: { name: 'bench', preset: 'reader', read } });
    // Conversations that cannot be listed, such as those with a short code, are left out.
    const { body: refused } = await make(chats.concat('nobody'));
    const wrong = new Set(refused.errors.map(({ pointer }) => Number(pointer.split('/')[2])));
    const listed = chats.filter((_, index) => !wrong.has(index)).slice(0, CHATS);
    const { key } = (await make(listed)).body;
    const [message] = (await ask('/messages?limit=1', { key })).body;
    const rows = [];
    for (const [what, route, least] of [
      ['one message by id', `/messages/${message.id}`, 0.8],
      [`newest 50 messages, of ${listed.length} listed conversations`, '/messages', 1 / 3],
    ]) {
      const measured = [[], []];
      for (let round = 0; round <= rounds; round += 1) {
        for (const [which, one] of [key, KEY].entries()) {
          const perSecond = await load(service.port, `/api/v1${route}`, loadMs, one);
          if (round > 0) measured[which].push(perSecond);
        }
      }
      const [limited, owner] = measured.map(summary);
      rows.push({
        what: `HTTP, limited key: ${what}`,
        rival: 'the same with the owner’s key',
        postern: limited,
        rivals: owner,
        unit: 'requests/s',
        ratio: limited.median / owner.median,
        least,
      });
    }
    return rows;
  } finally {
    await service.stop();
  }
}

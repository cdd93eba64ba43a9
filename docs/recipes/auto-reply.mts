// An auto-reply bot with the typed client. Usage: POSTERN_URL=http://127.0.0.1:3001 POSTERN_KEY_FILE=key.txt node auto-reply.mts
// (Node 22.18 or newer runs TypeScript as it is; npm install /path/to/postern ws)
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { isPosternError, PosternClient } from 'postern/client';

const { POSTERN_URL: url = 'http://127.0.0.1:3001', POSTERN_KEY_FILE: keyFile = 'key.txt' } = process.env;
const client = new PosternClient({ url, key: readFileSync(keyFile, 'utf8').trim() });
/** The guids that were answered, oldest first: an event may come again. */
const answered = new Set<string>();

async function answer(recipient: string, body: string, idempotencyKey: string): Promise<void> {
  try {
    await client.send({ recipient, body, idempotencyKey });
    console.log('pong to', recipient);
  } catch (error) {
    if (!isPosternError(error)) throw error;
    console.error(error.message);
    if (![0, 429, 503].includes(error.status)) return; // the service said no
    await wait(1000); // it is away or busy; the same key never sends twice
    await answer(recipient, body, idempotencyKey);
  }
}

console.log(`Waiting for a ping at ${url}. Stop with Ctrl+C.`);
// Every event comes once and in order, also when the service is started again in between.
for await (const { type, data } of client.listen({ include: 'details', junk: false })) {
  // `mirror`: the copy of a message to oneself. `late`: it came long after it was written, such as from iCloud.
  if (type !== 'message.received' || data.details?.mirror || data.details?.late) continue;
  if (!/\bping\b/i.test(data.body) || answered.has(data.guid)) continue;
  answered.add(data.guid);
  for (const oldest of [...answered].slice(0, -1000)) answered.delete(oldest);
  await answer(data.conversation_id, 'pong', `pong-${data.guid}`);
}

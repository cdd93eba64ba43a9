// Prints the milliseconds until @photon-ai/imessage-kit has found 50 messages with a word: `node search-rival.mjs
// DATABASE WORD`.
import { IMessageSDK } from '@photon-ai/imessage-kit';

Object.defineProperty(process, 'platform', { value: 'darwin' });
const [databasePath, search] = process.argv.slice(2);
const kit = new IMessageSDK({ databasePath });
const startedAt = performance.now();
const { length } = await kit.getMessages({ search, limit: 50, excludeReactions: true });
process.stdout.write(JSON.stringify({ ms: performance.now() - startedAt, length }));
await kit.close();

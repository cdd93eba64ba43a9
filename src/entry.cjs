#!/usr/bin/env node
// The program's entry, dist/main.js. CommonJS, because an import would use libuv's threads before their number is set.

// Until the program handles signals itself, they end the process at once. Under a supervisor, exit code 0 would mean
// "do not restart" (decision T3).
const terminated = process.argv.includes('--supervised') ? 143 : 0;
process.once('SIGTERM', () => process.exit(terminated));
process.once('SIGINT', () => process.exit(0));

// A Node without SQLite started this process. Ends when that one ends, even if it is killed.
if (process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

// getaddrinfo blocks a libuv thread, and libuv allows it at most half of them: enough for 64 webhooks. Other commands
// need fewer threads, and starting them takes about 10 ms.
const [, , first = ''] = process.argv;
const isServing = first === '' || first.startsWith('-') || ['serve', 'hub', 'demo', 'run'].includes(first);
if (isServing) process.env.UV_THREADPOOL_SIZE ??= '128';

import('./program/main.mjs');

#!/usr/bin/env node
// The program's entry, dist/main.js. CommonJS, because an import would use libuv's threads before their number is set.

// Until the program handles signals itself, one ends the process at once. Under a supervisor the exit code 0 would
// mean "do not start it again" (decision T3).
const terminated = process.argv.includes('--supervised') ? 143 : 0;
process.once('SIGTERM', () => process.exit(terminated));
process.once('SIGINT', () => process.exit(0));

// getaddrinfo blocks a libuv thread, and libuv gives it at most half of them: enough for 64 webhooks. A command
// needs no such number, and starting them takes it some 10 ms.
const [, , first = ''] = process.argv;
const isServing = first === '' || first.startsWith('-') || ['serve', 'demo', 'run'].includes(first);
if (isServing) process.env.UV_THREADPOOL_SIZE ??= '128';

import('./program/main.mjs');

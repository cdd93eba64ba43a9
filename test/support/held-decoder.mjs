// Preloaded into the service and its threads: whoever decodes the address of one simulated card does not go on. Each
// time, a line is added to the file POSTERN_TEST_HELD.
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const HELD = 'https://example.org/p';
const original = Buffer.prototype.toString;

Buffer.prototype.toString = function (...range) {
  const text = original.apply(this, range);
  if (text === HELD) {
    appendFileSync(process.env.POSTERN_TEST_HELD, isMainThread ? 'main\n' : 'thread\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  return text;
};

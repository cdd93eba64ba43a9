import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { decodeAttributedBody } from '../../src/core/chatdb/attributed-body.ts';
import { isLong } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { newSeed } from '../support/seed.ts';
import { KEY } from '../support/service.ts';
import { Harness, openFiles, testWithProc } from './harness.ts';

const REQUESTS = isLong ? 150_000 : 800;
const FRAMES = isLong ? 50_000 : 1000;
const BLOBS = isLong ? 1_000_000 : 10_000;
const FRAMES_A_LINE = 25;
const AT_ONCE = 16;
/** Documented statuses above 499. */
const DOCUMENTED = [502, 503, 504];

/** Returns this process's processor time in milliseconds, which other load does not change. */
const cpuMs = (): number => process.cpuUsage().user / 1000;

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.end();
  harness = undefined;
});

/** A seeded generator of numbers from 0 to below `bound`, so that a failure can be repeated. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(bound: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * bound);
  }

  of<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('there is nothing to choose from');
    return item;
  }

  /** Changes, removes, doubles or inserts some bytes. */
  mutate(bytes: Buffer, most: number): Buffer {
    let mutated = Buffer.from(bytes);
    for (let left = this.below(most + 1); left > 0; left -= 1) {
      const at = this.below(mutated.length);
      const [head, tail] = [mutated.subarray(0, at), mutated.subarray(at)];
      const kind = this.below(5);
      if (kind === 0) mutated = Buffer.concat([head, tail.subarray(1 + this.below(8))]);
      else if (kind === 1) mutated = Buffer.concat([head, Buffer.from(this.of(INSERTIONS)), tail]);
      else if (kind === 2) mutated = Buffer.concat([head, tail.subarray(0, this.below(40)), tail]);
      else mutated[at] = kind === 3 ? this.below(256) : (mutated[at] ?? 0) ^ (1 << this.below(8));
    }
    return mutated;
  }
}

const INSERTIONS = [
  '\0',
  '\r\n',
  '\r\n\r\n',
  '%',
  '%00',
  '%zz',
  '%ed%a0%80',
  '../',
  '"',
  '\\ud800',
  '{"a":',
  '[',
  '-1',
  '1e999',
  '9007199254740993',
  'null',
  ';',
  '+',
  '&after=',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Content-Length: 3\r\n',
  'Origin: http://evil.example\r\n',
  '\u{1F600}',
  'x'.repeat(3000),
];

function requests(webhook: string): readonly Buffer[] {
  const head = (line: string, more = ''): string =>
    `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${KEY}\r\n${more}`;
  const bodied = (line: string, body: unknown): string => {
    const text = JSON.stringify(body);
    return `${head(line, `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`)}\r\n${text}`;
  };
  const api = '/api/v1';
  return [
    ...[
      '/health',
      '/messages?conversation_id=any;-;+15550100&since=2020-01-01T00:00:00Z&limit=50&offset=0',
      '/messages/1',
      '/conversations?limit=10&offset=1',
      '/conversations/any%3B-%3B%2B15550100',
      '/webhooks',
      `/webhooks/${webhook}`,
      `/webhooks/${webhook}/deliveries`,
      '/events?after=0&limit=10',
      '/status?as=xbar',
    ].map((path) => `${head(`GET ${api}${path}`)}\r\n`),
    bodied(`POST ${api}/messages`, { recipient: '+15550100', body: 'a text' }),
    bodied(`POST ${api}/webhooks`, { url: 'http://127.0.0.1:9/', events: ['message.sent'], secret: 'a secret' }),
    bodied(`POST ${api}/webhooks/${webhook}/replay`, { after: 0 }),
    bodied(`POST ${api}/webhooks/${webhook}/test`, {}),
    `${head(`DELETE ${api}/webhooks/00000000-0000-0000-0000-000000000000`)}\r\n`,
    `${head(`HEAD ${api}/conversations`)}\r\n`,
    `${head(`OPTIONS ${api}/messages`, 'Origin: http://127.0.0.1\r\n')}\r\n`,
    handshake(harness?.service.port ?? 0, '&after=0'),
  ].map((text) => Buffer.from(text));
}

function handshake(port: number, query = ''): string {
  return (
    `GET /api/v1/ws?api_key=${KEY}${query} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\n` +
    'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
  );
}

/** Returns a valid masked text frame of a client. */
function frame(dice: Dice): Buffer {
  const length = dice.below(120);
  const opcode = dice.of([1, 1, 2, 8, 9, 10, 0]);
  return Buffer.concat([
    Buffer.from([0x80 | opcode, 0x80 | length, 1, 2, 3, 4]),
    Buffer.alloc(length, dice.below(256)),
  ]);
}

/**
 * Sends bytes on a new connection, and `later` after the first answer. Resolves with the status of the first answer;
 * undefined if none comes.
 */
function exchange(
  port: number,
  bytes: readonly Buffer[],
  isAnswerEnough: boolean,
  later: readonly Buffer[] = [],
): Promise<number | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => {
      for (const part of bytes) socket.write(part);
      if (!isAnswerEnough && later.length === 0) socket.end();
    });
    // A request that announces more than it sends gets no answer, so the connection is ended soon.
    const end = setTimeout(() => later.length === 0 && socket.end(), 50);
    socket.setTimeout(later.length === 0 ? 3000 : 0);
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (answer === '' && later.length > 0) socket.setTimeout(3000).end(Buffer.concat(later));
      if (answer.length < 16) answer += chunk.toString('latin1');
      if (isAnswerEnough && answer.length >= 16) socket.destroy();
    });
    socket.on('close', () => clearTimeout(end));
    socket.on('close', () => resolve(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.slice(1).map(Number)[0]));
  });
}

/** Runs `work` this many times, several at once. */
async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  let left = times;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

testWithProc(
  `${REQUESTS} mutated requests and ${FRAMES} mutated frames: no undocumented 5xx, no crash, no handle left`,
  async () => {
    const seed = newSeed('mutated requests');
    const dice = new Dice(seed);
    harness = new Harness();
    const service = await harness.start();
    const { pid, port } = service;
    const bases = requests(await harness.webhook(await Receiver.start()));
    const handles = openFiles(pid);
    const statuses = new Map<number | undefined, number>();

    await repeat(REQUESTS, async () => {
      const bytes = dice.mutate(dice.of(bases), 6);
      const status = await exchange(port, [bytes], true);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== undefined && status >= 500 && !DOCUMENTED.includes(status)) {
        throw new Error(`seed ${seed}: ${status} for ${JSON.stringify(bytes.toString('latin1'))}`);
      }
    });
    await repeat(FRAMES / FRAMES_A_LINE, async () => {
      const frames = Array.from({ length: FRAMES_A_LINE }, () => dice.mutate(frame(dice), 2));
      const greeting = Buffer.from(handshake(port));
      expect(await exchange(port, [greeting], false, frames)).toBe(101);
      // If the bytes after the handshake reset the connection, its answer may be lost.
      expect([101, undefined]).toContain(await exchange(port, [greeting, ...frames], false));
    });

    console.log(`seed ${seed}: ${JSON.stringify(Object.fromEntries([...statuses].toSorted()))}`);
    expect(service.pid).toBe(pid);
    expect((await service.get('/health')).json).toMatchObject({ backend: { connected: true } });
    expect(service.output).not.toMatch(/uncaught|unhandled|"level":"fatal"/i);
    // A request that announces more than it sends is given up after 10 s (decision E7).
    await eventually(() => expect(openFiles(pid)).toBeLessThanOrEqual(handles + 4));
    const row = harness.database.message({ chat: 1, text: 'after all that', handle_id: 1 });
    await eventually(async () =>
      expect((await service.get(`/events?after=${row - 1}`)).text).toContain('after all that'),
    );
  },
  REQUESTS * 20 + 120_000,
);

test(`${BLOBS} mutated blobs through the decoder of attributedBody: never throws, never hangs`, () => {
  const seed = newSeed('mutated blobs');
  const dice = new Dice(seed);
  const file = new URL('../support/typedstream-vectors.json', import.meta.url);
  const vectors = JSON.parse(readFileSync(file, 'utf8')) as readonly { readonly hex: string }[];
  const blobs = vectors.map(({ hex }) => Buffer.from(hex, 'hex')).filter((blob) => blob.length < 4000);
  let slowestMs = 0;
  let read = 0;
  for (let count = 0; count < BLOBS; count += 1) {
    const blob = dice.mutate(dice.of(blobs), 8);
    const started = cpuMs();
    if (decodeAttributedBody(blob) !== undefined) read += 1;
    slowestMs = Math.max(slowestMs, cpuMs() - started);
  }
  console.log(`seed ${seed}: ${read} of ${BLOBS} gave a text, the slowest took ${slowestMs.toFixed(1)} ms`);
  expect(slowestMs).toBeLessThan(1000);
}, 600_000);

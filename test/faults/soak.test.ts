import { existsSync, renameSync } from 'node:fs';
import { afterEach, expect } from '@jest/globals';
import { isLong } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { seededChance } from '../support/seed.ts';
import type { Listener } from '../support/service.ts';
import { compare, Harness, openFiles, residentMiB, testWithProc, wait } from './harness.ts';
import { MISBEHAVIOURS } from './misbehaviours.ts';

const LASTS_MS = isLong ? 20 * 60_000 : 6000;
const ROWS_PER_SECOND = 50;
/** Milliseconds between faults. */
const FAULT_EVERY_MS = isLong ? 5000 : 700;
const SAMPLE_EVERY_MS = isLong ? 2000 : 500;
/** Memory is compared between windows of this length; the first minute is for warming up. */
const WINDOW_MS = 5 * 60_000;
const WARM_UP_MS = 60_000;

const chance = seededChance('soak');
let harness: Harness;
afterEach(() => harness.end());

/** A webhook's receiver that stores only row ids, and sometimes fails. */
class Tally {
  readonly accepted: number[] = [];
  readonly receiver: Receiver;
  #failsNext: keyof typeof MISBEHAVIOURS | undefined;

  private constructor(receiver: Receiver) {
    this.receiver = receiver;
    receiver.answerWith((response, { headers, event }) => {
      receiver.deliveries.length = 0;
      // Only first attempts fail: after three failures the event would be dropped, as the contract says.
      const fails = headers['x-webhook-attempt'] === '1' ? this.#failsNext : undefined;
      if (fails !== undefined) this.#failsNext = undefined;
      if (fails !== undefined) return MISBEHAVIOURS[fails](response);
      this.accepted.push(Number(event.data.id));
      response.writeHead(204).end();
    });
  }

  static async start(): Promise<Tally> {
    return new Tally(await Receiver.start());
  }

  failNext(): void {
    this.#failsNext = oneOf(['answers 500', 'resets', 'redirects', 'hangs']);
  }
}

/** A client whose line is cut again and again, and which resumes where it was. */
class CutClient {
  readonly rows: number[] = [];
  #listener: Listener | undefined;

  async connect(first: number): Promise<void> {
    this.#drop();
    const after = this.rows.at(-1) ?? first;
    this.#listener = await harness.service.socket(`&after=${after}`);
  }

  /** Records the events received so far. The line stays open. */
  note(): void {
    const { frames = [] } = this.#listener ?? {};
    for (const frame of frames.splice(0)) {
      this.rows.push(Number((JSON.parse(frame) as { data: { id: string } }).data.id));
    }
  }

  #drop(): void {
    this.#listener?.socket.removeAllListeners('message');
    this.#listener?.socket.terminate();
    this.note();
  }
}

function oneOf<Item>(items: readonly Item[]): Item {
  const item = items[chance.below(items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}

/** Moves chat.db and its side files away for a moment, while Messages keeps writing through its open handles. */
async function renameAway(): Promise<void> {
  const files = ['', '-wal', '-shm'].map((side) => harness.path + side).filter((file) => existsSync(file));
  for (const file of files) renameSync(file, `${file}.away`);
  await wait(300);
  for (const file of files.toReversed()) renameSync(`${file}.away`, file);
}

/** The Mac sleeps: the service stops while the rest of the world continues. */
async function sleep(): Promise<void> {
  process.kill(harness.service.pid, 'SIGSTOP');
  await wait(500 + chance.next() * 1500);
  process.kill(harness.service.pid, 'SIGCONT');
}

async function stallReaders(): Promise<void> {
  const stalled = await Promise.all(Array.from({ length: 5 }, () => harness.service.socket()));
  for (const { socket } of stalled) socket.pause();
  await wait(500);
  await Promise.all(stalled.map((listener) => listener.close()));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

testWithProc(
  `${LASTS_MS / 1000} s at ${ROWS_PER_SECOND} rows/s with faults: nothing lost, memory and file handles flat`,
  async () => {
    harness = new Harness();
    const { pid } = await harness.start();
    const first = harness.newestRow();
    const tallies = [await Tally.start(), await Tally.start()];
    for (const { receiver } of tallies) await harness.webhook(receiver);
    const client = new CutClient();
    await client.connect(first);
    let writer = harness.writer(ROWS_PER_SECOND);
    await eventually(() => expect(harness.newestRow()).toBeGreaterThan(first));
    const faults: Readonly<Record<string, () => unknown>> = {
      'a receiver fails': () => tallies[0]?.failNext(),
      'the other receiver fails': () => tallies[1]?.failNext(),
      'the client is cut off': () => client.connect(first),
      'the writer is killed': async () => {
        await writer.kill();
        const last = harness.newestRow();
        writer = harness.writer(ROWS_PER_SECOND);
        // Otherwise the service might look for a chat.db that has already been moved away.
        await eventually(() => expect(harness.newestRow()).toBeGreaterThan(last));
      },
      'chat.db is away': renameAway,
      sleep,
      'readers stall': stallReaders,
    };
    const happened = new Map<string, number>();
    const samples: { readonly atMs: number; readonly mib: number; readonly files: number }[] = [];
    const started = performance.now();
    const passed = (): number => performance.now() - started;
    let nextFault = 0;
    while (passed() < LASTS_MS) {
      if (passed() >= nextFault) {
        nextFault = passed() + FAULT_EVERY_MS * (0.5 + chance.next());
        const name = oneOf(Object.keys(faults));
        happened.set(name, (happened.get(name) ?? 0) + 1);
        await faults[name]?.();
      }
      await wait(SAMPLE_EVERY_MS);
      client.note();
      samples.push({ atMs: passed(), mib: residentMiB(pid), files: openFiles(pid) });
    }
    await writer.kill();
    const newest = harness.newestRow();
    const written = harness.rowsAfter(first);
    await waitFor(() => {
      client.note();
      return [client.rows, ...tallies.map(({ accepted }) => accepted)].every((rows) => rows.at(-1) === newest);
    }, 60_000);
    for (const rows of [client.rows, ...tallies.map(({ accepted }) => accepted)]) {
      expect(compare(written, rows)).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
    }
    expect(harness.service.pid).toBe(pid); // the same process all the time
    expect((await harness.service.get('/health')).json).toMatchObject({ backend: { connected: true } });

    const steady = samples.filter(({ atMs }) => atMs > Math.min(WARM_UP_MS, LASTS_MS / 4));
    const windows = Array.from({ length: Math.ceil(LASTS_MS / WINDOW_MS) }, (_, window) =>
      steady.filter(({ atMs }) => Math.floor(atMs / WINDOW_MS) === window),
    );
    const medians = windows.map((window) => median(window.map(({ mib }) => mib)));
    const files = windows.map((window) => median(window.map((sample) => sample.files)));
    console.log(
      `${written.length} rows, faults ${JSON.stringify(Object.fromEntries(happened))}\n` +
        `medians of resident memory ${medians.map((mib) => mib.toFixed(1)).join(', ')} MiB; of open files ${files.join(', ')}`,
    );
    expect(Math.max(...files) - Math.min(...files)).toBeLessThanOrEqual(2);
    expect(openFiles(pid)).toBeLessThanOrEqual((samples[0]?.files ?? 0) + 8); // what a webhook connection may keep
    if (isLong) expect(Math.max(...medians) / Math.min(...medians)).toBeLessThanOrEqual(1.05);
  },
  LASTS_MS + 120_000,
);

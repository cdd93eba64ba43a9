import { afterEach, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { compare, isLong, rowsOf, Stage } from './stage.ts';

const KILLS = isLong ? 200 : 12;
const ROWS_PER_SECOND = 500;
/** Decision F4: what a crash may repeat at one webhook. */
const REPEATS_A_KILL = 6;

let stage: Stage;
afterEach(() => stage.end());

const wait = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

test(
  `the service killed ${KILLS} times under ${ROWS_PER_SECOND} rows/s: nothing lost, order kept, few repeats`,
  async () => {
    stage = new Stage();
    const service = await stage.start();
    const first = stage.newestRow();
    const receivers = [await Receiver.start(), await Receiver.start()];
    for (const receiver of receivers) await stage.webhook(receiver);
    const client = stage.client(first);
    const writer = stage.writer(ROWS_PER_SECOND);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await wait(Math.random() * 400); // the moment of the fault, not a wait for something
      await service.stop('SIGKILL');
      await service.launch();
    }
    await writer.kill();
    const written = stage.rowsAfter(first);
    expect(written.length).toBeGreaterThan(KILLS);
    const newest = stage.newestRow();
    await eventually(() => [client.rows, ...receivers.map(rowsOf)].every((rows) => rows.at(-1) === newest), 180_000);
    for (const receiver of receivers) {
      const found = compare(written, rowsOf(receiver));
      console.log(
        `webhook: ${written.length} rows, ${KILLS} kills, ${found.lost.length} lost, ${found.repeats} repeats`,
      );
      expect(found).toMatchObject({ lost: [], outOfOrder: 0, unknown: [] });
      expect(found.repeats).toBeLessThanOrEqual(REPEATS_A_KILL * KILLS);
    }
    console.log(`client: ${client.reconnects} reconnects`);
    expect(compare(written, client.rows)).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
  },
  KILLS * 5000 + 240_000,
);

test(
  `the writer killed ${KILLS} times`,
  async () => {
    stage = new Stage();
    await stage.start();
    const first = stage.newestRow();
    const receiver = await Receiver.start();
    await stage.webhook(receiver);
    const client = stage.client(first);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const writer = stage.writer(ROWS_PER_SECOND);
      const before = stage.newestRow();
      await eventually(() => stage.newestRow() > before);
      await wait(Math.random() * 300);
      await writer.kill();
    }
    const newest = stage.newestRow();
    const written = stage.rowsAfter(first);
    await eventually(() => [client.rows, rowsOf(receiver)].every((rows) => rows.at(-1) === newest), 120_000);
    for (const rows of [client.rows, rowsOf(receiver)]) {
      expect(compare(written, rows)).toEqual({ lost: [], repeats: 0, outOfOrder: 0, unknown: [] });
    }
  },
  KILLS * 3000 + 180_000,
);

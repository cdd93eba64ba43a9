import { appendFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { CommitDetector } from '../../src/core/chatdb/commit-detector.ts';
import { Connection } from '../../src/core/chatdb/connection.ts';
import type { BackendHealth } from '../../src/core/model/ports/reading-ports.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const toClose: (() => void)[] = [];
afterEach(() => {
  for (const close of toClose.splice(0).reverse()) close();
});
let files = 0;

function build({ isWatching = false, wal = true, exists = true, isLink = false } = {}) {
  files += 1;
  const path = join(folder, `detector-${files}.db`);
  if (isLink) symlinkSync(`${path}.itself`, path);
  const clock = new FakeClock();
  const connection = new Connection({ path, home: '/Users/ada', log: collectingLog() });
  const seen = { changes: 0, health: [] as BackendHealth[] };
  const detector = new CommitDetector({
    connection,
    clock,
    pollIntervalMs: 1000,
    isWatching,
    onHealth: (health) => void seen.health.push(health),
  });
  detector.onCommit(() => {
    seen.changes += 1;
  });
  const create = () => {
    const fixture = new ChatFixture(path, 'macos-26', { wal });
    toClose.push(() => fixture.close());
    return fixture;
  };
  const fixture = exists ? create() : undefined;
  toClose.push(
    () => connection.close(),
    () => detector.close(),
  );
  return { path, clock, connection, detector, seen, create, fixture };
}

describe('the change detector', () => {
  test('checks at once, then at every interval, and reports only commits', async () => {
    const { detector, seen, clock, fixture } = build();
    detector.start();
    detector.start();
    expect(seen.changes).toBe(1);
    await clock.advance(5000);
    expect(seen.changes).toBe(1);
    fixture?.message();
    await clock.advance(999);
    expect(seen.changes).toBe(1);
    await clock.advance(1);
    expect(seen.changes).toBe(2);
    expect(clock.pending).toBe(1);
  });

  test('tells of a database that a read opened before the first check', () => {
    const { connection, detector, seen } = build();
    connection.read(() => undefined);
    detector.start();
    expect(seen.changes).toBe(1);
  });

  test('reports changes of health, and continues when the database is back', async () => {
    const { detector, seen, clock, create } = build({ exists: false });
    detector.start();
    await clock.advance(3000);
    expect(seen.health.map(({ connected }) => connected)).toEqual([false]);
    expect(seen.changes).toBe(0);
    create();
    await clock.advance(1000);
    expect(seen.health.map(({ connected }) => connected)).toEqual([false, true]);
    expect(seen.changes).toBe(1);
  });

  test('is not delayed or hurried by a clock that is set', async () => {
    const { detector, seen, clock, fixture } = build();
    detector.start();
    clock.step(-86_400_000);
    fixture?.message();
    await clock.advance(1000);
    clock.step(86_400_000);
    fixture?.message();
    await clock.advance(1000);
    expect(seen.changes).toBe(3);
  });

  test('with the watch notices a commit without any interval passing', async () => {
    const { detector, seen, clock, fixture } = build({ isWatching: true });
    fixture?.message();
    detector.start();
    for (let commits = 1; commits <= 5; commits += 1) {
      fixture?.message();
      await waitFor(() => clock.advance(1).then(() => seen.changes === commits + 1));
    }
    expect(clock.monotonic()).toBeLessThan(1000);
  });

  test('watches the WAL where a link leads to', async () => {
    const { detector, seen, clock, fixture } = build({ isWatching: true, isLink: true });
    fixture?.message();
    detector.start();
    fixture?.message();
    await waitFor(() => clock.advance(1).then(() => seen.changes === 2));
    expect(clock.monotonic()).toBeLessThan(900);
  });

  test('checks only so often after an event that brings nothing', async () => {
    const { path, detector, clock, fixture, seen } = build({ isWatching: true });
    fixture?.message();
    detector.start();
    const writer = new ChatFixtureWriter(path);
    toClose.push(() => writer.close());
    writer.writeUncommitted();
    await eventually(() => expect(clock.pending).toBe(2));
    await clock.advance(60);
    expect(clock.pending).toBe(1);
    expect(seen.changes).toBe(1);
    writer.commit();
    await waitFor(() => clock.advance(1).then(() => seen.changes === 2));
  });

  test('checks again after an event whose check found something: it may have been the commit before', async () => {
    const { detector, clock, fixture, seen } = build({ isWatching: true });
    fixture?.message();
    detector.start();
    fixture?.message();
    await eventually(() => expect(seen.changes).toBe(2));
    expect(clock.pending).toBe(2); // the poll, and a check
    await clock.advance(60);
    expect(clock.pending).toBe(1);
  });

  test('checks 1, 3, 8, 20 and 50 ms after an event, until one of these finds something; another event begins again', async () => {
    const path = join(folder, 'detector-timed.db');
    writeFileSync(`${path}-wal`, '');
    const clock = new FakeClock();
    const checks: number[] = [];
    const checksOfFiles: number[] = [];
    let finding = Number.POSITIVE_INFINITY;
    let changes = 0;
    const onChange = (): void => {
      changes += 1;
    };
    const connection = {
      filePath: path,
      walId: 'the same',
      health: () => ({ connected: true, message: null }),
      check() {
        checksOfFiles.push(clock.monotonic());
        if (checks.length !== finding) checks.push(clock.monotonic());
        return checks.length === finding ? 'changed' : 'unchanged';
      },
      mayHaveChanged() {
        checks.push(clock.monotonic());
        return checks.length === finding;
      },
    } as unknown as Connection;
    const detector = new CommitDetector({ connection, clock, pollIntervalMs: 60_000 });
    detector.onCommit(onChange);
    toClose.push(() => detector.close());
    detector.start();
    changes = 0;
    const event = async (): Promise<void> => {
      const before = checks.length;
      appendFileSync(`${path}-wal`, 'x');
      await eventually(() => expect(checks.length).toBe(before + 1));
    };
    await event();
    await clock.advance(100);
    expect(checks).toEqual([0, 0, 1, 3, 8, 20, 50]);
    expect(checksOfFiles).toEqual([0, 0, 50]);
    checks.length = 0;
    finding = 3;
    await event();
    await clock.advance(100);
    expect(checks).toEqual([100, 101, 103]);
    expect(changes).toBe(1);
    checks.length = 0;
    finding = Number.POSITIVE_INFINITY;
    await event();
    await clock.advance(2);
    await event();
    await clock.advance(100);
    expect(checks).toEqual([200, 201, 202, 203, 205, 210, 222, 252]);
  });

  test('watches the new WAL when the old one was replaced', async () => {
    const { path, detector, seen, clock, fixture, create } = build({ isWatching: true });
    fixture?.message();
    detector.start();
    fixture?.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    const successor = create();
    await clock.advance(1000);
    const before = seen.changes;
    const passed = clock.monotonic();
    successor.message();
    await waitFor(() => clock.advance(1).then(() => seen.changes > before));
    expect(clock.monotonic() - passed).toBeLessThan(900);
  });

  test('leaves no timer and calls nobody once closed', async () => {
    const { detector, seen, clock, fixture } = build({ isWatching: true });
    detector.start();
    fixture?.message();
    detector.close();
    detector.close();
    detector.start();
    await clock.advance(5000);
    expect(clock.pending).toBe(0);
    expect(seen.changes).toBe(1);
  });
});

/** Fills the WAL within an uncommitted transaction. */
class ChatFixtureWriter {
  readonly #database: Database.Database;

  constructor(path: string) {
    this.#database = new Database(path);
    this.#database.pragma('cache_size = 1');
  }

  writeUncommitted(): void {
    this.#database.exec('BEGIN');
    const insert = this.#database.prepare('INSERT INTO message (guid, text) VALUES (?, ?)');
    for (let n = 0; n < 200; n += 1) insert.run(`U${n}`, 'x'.repeat(2000));
  }

  commit(): void {
    this.#database.exec('COMMIT');
  }

  close(): void {
    this.#database.close();
  }
}

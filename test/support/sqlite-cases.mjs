// Checks what the service relies on. Each runtime runs this with the name of an implementation. Prints one line of JSON
// per case: its name, what was read, and the error that it ended with, if any.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const runtime = new URL('../../dist/src/core/runtime/', import.meta.url);
const { wrap } = await import(`${runtime}sqlite.js`);
const loaders = {
  'better-sqlite3': async () => (await import(`${runtime}sqlite/better-sqlite3.js`)).loadBetterSqlite3(),
  'bun:sqlite': async () => (await import(`${runtime}sqlite/bun.js`)).loadBunSqlite(),
  'node:sqlite': async () => (await import(`${runtime}sqlite/node.js`)).loadNodeSqlite(),
};
const openNative = await loaders[process.argv[2]]();
const folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'));
const open = (path, { readonly = false, busyTimeoutMs = 50 } = {}) =>
  wrap(openNative(path, { readonly, busyTimeoutMs }));
let files = 0;
const newFile = () => {
  files += 1;
  return join(folder, `${files}.db`);
};

/** Shows bytes, and numbers that JSON cannot distinguish, as text. */
const shown = (value) => {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return value.map(shown);
  return value === undefined ? 'undefined' : typeof value === 'number' ? `number ${value}` : value;
};
const codeOf = (work) => {
  try {
    work();
    return 'no error';
  } catch (error) {
    return error.code;
  }
};

const cases = {
  'every type is read as it was written'() {
    const db = open(':memory:');
    db.exec('CREATE TABLE t (a)');
    const insert = db.prepare('INSERT INTO t VALUES (?)');
    for (const value of [
      null,
      0,
      -1,
      1.5,
      '',
      'Zoë 👋\n',
      9007199254740991,
      new Uint8Array([0, 255]),
      new Uint8Array(),
    ])
      insert.run(value);
    return db.prepare('SELECT a FROM t').all().flat();
  },
  'integers beyond 2^53 are read as the nearest number'() {
    const db = open(':memory:');
    db.exec('CREATE TABLE t (a INTEGER)');
    const insert = db.prepare('INSERT INTO t VALUES (?)');
    // Dates of Messages in nanoseconds, and the limits of the column.
    for (const value of [764190123456789012n, 764190123456789013n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n])
      for (const signed of [value, -value]) insert.run(signed);
    insert.run(-(2n ** 63n));
    return [
      ...db.prepare('SELECT a FROM t').all().flat(),
      db.prepare('SELECT max(a) FROM t').get()[0],
      db.prepare('SELECT CAST(max(a) AS TEXT) FROM t').get()[0],
    ];
  },
  'a bound integer beyond 2^53 is compared exactly'() {
    const db = open(':memory:');
    db.exec('CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (764190123456789012), (764190123456789013)');
    return db.prepare('SELECT count(*) FROM t WHERE a > ?').get(764190123456789012n);
  },
  'bound numbers fit strict columns, limits and row ids'() {
    const db = open(':memory:');
    db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT) STRICT');
    const insert = db.prepare('INSERT INTO t (a, b) VALUES (?, ?)');
    for (let a = 1; a <= 5; a += 1) insert.run(a, `row ${a}`);
    return db.prepare('SELECT b, typeof(a) FROM t WHERE id > ? AND a >= ? ORDER BY id LIMIT ?').all(1, 3, 2);
  },
  'a missing row is undefined, an empty list is empty'() {
    const db = open(':memory:');
    return [db.prepare('SELECT 1 WHERE 0').get(), db.prepare('SELECT 1 WHERE 0').all()];
  },
  'columns of the same name are all there'() {
    return open(':memory:').prepare('SELECT 1 AS a, 2 AS a').get();
  },
  'run gives the number of changed rows'() {
    const db = open(':memory:');
    db.exec('CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)');
    return [db.prepare('UPDATE t SET a = a + 1 WHERE a > ?').run(1), db.prepare('DELETE FROM t').run()];
  },
  'a PRAGMA is read like a table'() {
    const db = open(newFile());
    db.exec('PRAGMA journal_mode = WAL; PRAGMA user_version = 7');
    return [db.prepare('PRAGMA journal_mode').get(), db.prepare('PRAGMA user_version').all()];
  },
  'a transaction is all or nothing'() {
    const db = open(':memory:');
    db.exec('CREATE TABLE t (a)');
    const code = codeOf(() =>
      db.transaction(() => {
        db.exec('INSERT INTO t VALUES (1)');
        throw Object.assign(new Error('no'), { code: 'MINE' });
      }),
    );
    return [code, db.transaction(() => db.prepare('SELECT count(*) FROM t').get()[0])];
  },
  'a disk that is full is that error, not the roll-back that SQLite did by itself'() {
    const db = open(newFile());
    db.exec('CREATE TABLE t (a)');
    db.exec(`PRAGMA max_page_count = ${db.prepare('PRAGMA page_count').get()[0] + 1}`);
    const fill = () => db.transaction(() => db.exec('INSERT INTO t VALUES (zeroblob(100000))'));
    const codes = [codeOf(fill), codeOf(fill)];
    db.transaction(() => db.exec('INSERT INTO t VALUES (1)'));
    return [...codes, db.prepare('SELECT count(*) FROM t').get()[0]];
  },
  'the failures of a file have their names'() {
    const path = newFile();
    const db = open(path);
    db.exec('CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)');
    const other = open(path, { busyTimeoutMs: 1 });
    db.exec('BEGIN IMMEDIATE');
    const busy = codeOf(() => other.exec('BEGIN IMMEDIATE'));
    db.exec('ROLLBACK');
    const reader = open(path, { readonly: true });
    return [
      busy,
      codeOf(() => open(join(folder, 'missing.db'), { readonly: true })),
      codeOf(() => open(folder).prepare('SELECT * FROM sqlite_master').all()),
      codeOf(() => reader.exec('INSERT INTO t VALUES (2)')),
      codeOf(() => db.prepare('SELECT * FROM missing')),
      codeOf(() => db.exec('INSERT INTO t VALUES (1)')).slice(0, 17),
      codeOf(() =>
        open(new URL(import.meta.url).pathname)
          .prepare('SELECT * FROM t')
          .all(),
      ),
    ];
  },
  'closing twice is fine, and a closed file can be opened again'() {
    const path = newFile();
    const db = open(path);
    db.exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
    db.prepare('SELECT a FROM t').get();
    db.close();
    db.close();
    return open(path, { readonly: true }).prepare('SELECT a FROM t').all();
  },
  'a row that was read holds no lock'() {
    const path = newFile();
    const db = open(path);
    db.exec('CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)');
    db.prepare('SELECT a FROM t').get();
    const other = open(path);
    return [codeOf(() => other.exec('DROP TABLE t'))];
  },
};

for (const [name, run] of Object.entries(cases)) {
  let line;
  try {
    line = { name, read: shown(run()) };
  } catch (error) {
    line = { name, error: String(error.stack) };
  }
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
rmSync(folder, { recursive: true, force: true });

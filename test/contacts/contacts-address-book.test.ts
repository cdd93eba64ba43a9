import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { AddressBook, type AddressBookParts } from '../../src/features/contacts/address-book.ts';
import {
  AddressBookSource,
  addressBookFile,
  type NewPerson,
  writeAddressBook,
} from '../../src/features/simulator/address-book.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const MINUTE_MS = 60_000;
const books: AddressBook[] = [];
const closers: (() => void)[] = [];
const NOBODY = 65_534;
let folders = 0;

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  for (const book of books.splice(0)) await book.close();
});

function newFolder(): string {
  folders += 1;
  return join(root, `AddressBook ${folders}`);
}

function write(path: string, ...people: readonly NewPerson[]): void {
  const source = AddressBookSource.open(path);
  for (const person of people) source.person(person);
  source.close();
}

function open(folder: string, options: Partial<AddressBookParts> = {}) {
  const clock = new FakeClock();
  const log = collectingLog();
  const book = new AddressBook({ folder, isAllowed: () => true, callingCode: () => '1', clock, log, ...options });
  books.push(book);
  /** Checks once a minute until the addresses have these names. */
  const become = (expected: Readonly<Record<string, string | undefined>>) =>
    eventually(async () => {
      await clock.advance(MINUTE_MS);
      expect(await namesIn(book, ...Object.keys(expected))).toEqual(Object.values(expected));
    });
  return { book, clock, log, become };
}

/**
 * Denies this process a folder, as macOS does without the permission, until the returned function is called. Root may
 * do everything.
 */
function refuse(folder: string): () => void {
  if (process.getuid?.() !== 0) {
    chmodSync(folder, 0);
    return () => chmodSync(folder, 0o700);
  }
  process.seteuid?.(NOBODY);
  return () => process.seteuid?.(0);
}

async function namesIn(book: AddressBook, ...addresses: readonly string[]): Promise<readonly (string | undefined)[]> {
  await book.ready();
  return addresses.map((address) => book.names.nameOf(address));
}

describe('names', () => {
  test('come from all accounts, whatever the spelling of an address', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    const { book } = open(folder);
    expect(
      await namesIn(book, '+15550100', 'ANA@example.com', '+15550101', '+15550111', 'cho@example.com', '+15550150'),
    ).toEqual(['Ana Silva', 'Ana Silva', 'Ben Okafor', 'Ben Okafor', 'Cho Tanaka', 'Garden Centre']);
    expect(book.health()).toEqual({ state: 'loaded', message: null });
  });

  test('of two people with one address are none, and of namesakes with two are both', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    const { book } = open(folder);
    expect(await namesIn(book, '+15550130', '+15550120', '+15550121', '+15559999')).toEqual([
      undefined,
      'John Smith',
      'John Smith',
      undefined,
    ]);
    expect(await book.named('john SMITH')).toHaveLength(2);
  });

  test('are the full name, else the nickname, else the organization', async () => {
    const folder = newFolder();
    write(
      addressBookFile(folder),
      { first: 'Ana', organization: 'Acme', numbers: ['+15550001'] },
      { nickname: 'Grandma', organization: 'Acme', numbers: ['+15550002'] },
      { organization: 'Acme', numbers: ['+15550003'] },
      { first: '小明', last: '王', numbers: ['+15550004'] },
      { numbers: ['+15550005'] },
      { first: ' Max\n', last: 'Vogel ', numbers: ['+15550006'] },
    );
    const { book } = open(folder);
    const addresses = [1, 2, 3, 4, 5, 6].map((last) => `+1555000${last}`);
    expect(await namesIn(book, ...addresses)).toEqual(['Ana', 'Grandma', 'Acme', '王小明', undefined, 'Max Vogel']);
  });

  test('of incomplete numbers need the country, and follow when it becomes known', async () => {
    const folder = newFolder();
    write(addressBookFile(folder), { first: 'Ana', numbers: ['070-123 45 67'] });
    const codes: string[] = [];
    const { book, become } = open(folder, { callingCode: () => codes[0] });
    expect(await namesIn(book, '+46701234567')).toEqual([undefined]);
    codes.push('46');
    await become({ '+46701234567': 'Ana' });
  });
});

describe('the files', () => {
  test('are not opened before somebody asks, nor while macOS could ask the person', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    let isAllowed = false;
    const { book, clock } = open(folder, { isAllowed: () => isAllowed });
    expect(book.health().state).toBe('not_loaded');
    expect(book.ready()).toBeUndefined();
    expect(book.names.nameOf('+15550100')).toBeUndefined();
    expect(readdirSync(folder)).not.toContain('AddressBook-v22.abcddb-shm');
    isAllowed = true;
    await clock.advance(1);
    expect(await namesIn(book, '+15550100')).toEqual(['Ana Silva']);
  });

  test('are loaded again when one changes, comes or goes, and not more often than once a minute', async () => {
    const folder = newFolder();
    const [one, two] = ['A', 'B'].map((account) => addressBookFile(folder, account)) as [string, string];
    write(one, { first: 'Ana', numbers: ['+15550100'] });
    const { book, clock, log, become } = open(folder);
    expect(await namesIn(book, '+15550100')).toEqual(['Ana']);
    const before = book.names;

    const source = AddressBookSource.open(one);
    source.sqlite.exec("UPDATE ZABCDRECORD SET ZFIRSTNAME = 'Anna'");
    await clock.advance(MINUTE_MS - 1);
    expect(await namesIn(book, '+15550100')).toEqual(['Ana']);
    await become({ '+15550100': 'Anna' });
    expect(book.names).not.toBe(before);
    source.close();

    write(two, { first: 'Ben', numbers: ['+15550101'] });
    await become({ '+15550100': 'Anna', '+15550101': 'Ben' });
    rmSync(dirname(one), { recursive: true });
    await become({ '+15550100': undefined, '+15550101': 'Ben' });
    const loads = log.lines.filter(({ message }) => message === 'loaded the Address Book');
    expect(loads).toHaveLength(4);
  });

  test('may be missing, so that nobody has a name and nothing is reported', async () => {
    for (const folder of [join(root, 'nowhere'), root]) {
      const { book, log } = open(folder);
      expect(await namesIn(book, '+15550100')).toEqual([undefined]);
      expect(book.health()).toEqual({ state: 'loaded', message: null });
      expect(log.lines.filter(({ level }) => level !== 'debug')).toEqual([]);
    }
  });

  test('that are damaged cost only their own people, are named once, and are read again once repaired', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    const [first = ''] = readdirSync(join(folder, 'Sources')).sort();
    const path = addressBookFile(folder, first);
    const { book, log, become } = open(folder);
    for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
    renameSync(path, `${path}.whole`);
    writeFileSync(path, 'not a database, but long enough to have a header of one'.repeat(100));
    expect(await namesIn(book, '+15550101', 'cho@example.com')).toEqual([undefined, 'Cho Tanaka']);
    expect(book.health()).toEqual({
      state: 'loaded',
      message: `Sources/${first}/AddressBook-v22.abcddb of the Address Book cannot be read (SQLITE_NOTADB), so the names of the people in it are missing.`,
    });
    await become({ '+15550101': undefined });
    renameSync(`${path}.whole`, path);
    await become({ '+15550101': 'Ben Okafor' });
    expect(book.health().message).toBeNull();
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  test('that are truncated give none of their people', async () => {
    const folder = newFolder();
    const path = addressBookFile(folder);
    const source = AddressBookSource.open(path);
    source.transaction(() => {
      for (let row = 0; row < 5000; row += 1) source.person({ first: `Person ${row}`, numbers: [`+1555${1e6 + row}`] });
    });
    source.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    source.close();
    truncateSync(path, 65_536);
    const { book } = open(folder);
    expect(await namesIn(book, '+15551000000')).toEqual([undefined]);
    expect(book.health()).toMatchObject({ state: 'failed', message: expect.stringContaining('SQLITE_CORRUPT') });
  });

  test('that are no files are not opened: a named pipe would wait without end', async () => {
    const folder = newFolder();
    mkdirSync(addressBookFile(folder), { recursive: true });
    const { book } = open(folder);
    expect(await namesIn(book, '+15550100')).toEqual([undefined]);
    expect(book.health()).toMatchObject({ state: 'failed', message: expect.stringContaining('not a file') });
  });

  test('that may not be read say so once, and are read as soon as they may be', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    // Without the permission macOS does not let a program list the folder.
    const sources = join(folder, 'Sources');
    const allow = refuse(sources);
    closers.push(allow);
    const { book, log, become } = open(folder);
    expect(await namesIn(book, '+15550100')).toEqual([undefined]);
    expect(book.health()).toEqual({
      state: 'failed',
      message: 'Postern has no permission to read the Address Book, so the names of the people in it are missing.',
    });
    await become({ '+15550100': undefined });
    allow();
    await become({ '+15550100': 'Ana Silva' });
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  test('with rows of any kind are read, and values that are no text are ignored', async () => {
    const folder = newFolder();
    const path = addressBookFile(folder);
    write(path, { first: 'Ana', numbers: ['+15550100'] });
    const source = AddressBookSource.open(path);
    const record = (values: string): void =>
      source.sqlite.exec(`INSERT INTO ZABCDRECORD (Z_ENT, Z_PK, ZFIRSTNAME, ZLASTNAME) VALUES (22, ${values})`);
    record("100, x'00ff', 7");
    record("101, 'x', NULL");
    record(`102, '${'y'.repeat(1_000_000)}', 1e300`);
    record("9223372036854775807, 'beyond', 'numbers'");
    record("-5, 'negative', 'key'");
    for (const [owner, number] of [
      [100, "'+15550101'"],
      [101, "x'2b31'"],
      [101, '5555550102'],
      [102, `'${'9'.repeat(1_000_000)}'`],
      [102, "'+15550103'"],
      ['NULL', "'+15550104'"],
      ["'Ana'", "'+15550104'"],
      [4711, "'+15550104'"],
      [-5, "'+15550105'"],
      ['9223372036854775807', "'+15550106'"],
    ]) {
      source.sqlite.exec(`INSERT INTO ZABCDPHONENUMBER (ZOWNER, ZFULLNUMBER) VALUES (${owner}, ${number})`);
    }
    source.close();
    const { book } = open(folder);
    const addresses = ['+15550100', '+15550101', '+15555550102', ...[3, 4, 5, 6].map((last) => `+1555010${last}`)];
    expect(await namesIn(book, ...addresses)).toEqual([
      'Ana',
      '7',
      'x',
      '1.0e+300',
      undefined,
      'negative key',
      undefined,
    ]);
  });

  test('without the columns or tables that this version knows are read as far as they go', async () => {
    const folder = newFolder();
    mkdirSync(folder, { recursive: true });
    const database = openSqlite(addressBookFile(folder));
    database.exec(`CREATE TABLE ZABCDRECORD (Z_PK INTEGER PRIMARY KEY, ZFIRSTNAME);
      CREATE TABLE ZABCDPHONENUMBER (Z_PK INTEGER PRIMARY KEY, ZOWNER, ZFULLNUMBER);
      CREATE VIEW ZABCDEMAILADDRESS AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT i AS Z_PK, 1 AS ZOWNER, 'x@example.com' AS ZADDRESS FROM n;
      INSERT INTO ZABCDRECORD VALUES (1, 'Ana'); INSERT INTO ZABCDPHONENUMBER VALUES (1, 1, '+15550100');`);
    database.close();
    const { book } = open(folder);
    expect(await namesIn(book, '+15550100', 'x@example.com')).toEqual(['Ana', undefined]);
  });

  test('end when the service ends, also while they are loaded', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    const { book } = open(folder);
    const ready = book.ready();
    await book.close();
    await ready;
    expect(book.names.nameOf('+15550100')).toBeUndefined();
  });
});

describe('linked cards', () => {
  test('with different names keep the name of an address that both have, and other cards take it away', async () => {
    const folder = newFolder();
    const source = AddressBookSource.open(addressBookFile(folder));
    source.sqlite.exec('ALTER TABLE ZABCDRECORD ADD COLUMN ZLINKID');
    for (const first of ['Mum', 'Maria']) source.person({ first, numbers: ['+15550100'] });
    for (const first of ['Ben', 'Plumber']) source.person({ first, numbers: ['+15550101'] });
    source.sqlite.exec(`UPDATE ZABCDRECORD SET ZLINKID = 7 WHERE ZFIRSTNAME IN ('Mum', 'Maria', 'Ben')`);
    source.close();
    const { book } = open(folder);
    expect(await namesIn(book, '+15550100', '+15550101')).toEqual(['Mum', undefined]);
  });
});

describe('cards', () => {
  test('come from every file with their links, and count as linked across files only by an identifier', async () => {
    const folder = newFolder();
    const UUID = '8B1F5A52-0C5E-4D1C-9C57-2F6C1D0B7A01';
    for (const account of ['A', 'B']) {
      const source = AddressBookSource.open(addressBookFile(folder, account));
      source.sqlite.exec('ALTER TABLE ZABCDRECORD ADD COLUMN ZLINKID');
      const mother = source.person({ first: 'Mum', numbers: ['+1 555 0100', '(555) 0100 ext. 3'] });
      const count = source.person({ first: 'Ben', emails: ['Ben@Example.com'] });
      source.person({ first: 'Zero', numbers: ['+15550102'] });
      source.person({ numbers: ['+15550103'] });
      source.sqlite.exec(`UPDATE ZABCDRECORD SET ZLINKID = '${UUID}:ABPerson' WHERE Z_PK = ${mother}`);
      source.sqlite.exec(`UPDATE ZABCDRECORD SET ZLINKID = 7 WHERE Z_PK = ${count}`);
      source.sqlite.exec(`UPDATE ZABCDRECORD SET ZLINKID = 0 WHERE ZFIRSTNAME = 'Zero'`);
      source.close();
    }
    const { book } = open(folder);
    const file = (account: string) => join('Sources', account, 'AddressBook-v22.abcddb');
    const ofFile = (account: string) => [
      { name: 'Mum', addresses: ['+15550100'], link: `${UUID}:ABPerson` },
      { name: 'Ben', addresses: ['ben@example.com'], link: `${file(account)} 7` },
      { name: 'Zero', addresses: ['+15550102'], link: '' },
    ];
    expect(await book.cards()).toEqual([...ofFile('A'), ...ofFile('B')]);
  });

  test('of an Address Book without links are complete, and of one that may not be opened yet there are none', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    const { book } = open(folder);
    expect((await book.cards()).map(({ name, link }) => `${name}${link}`)).toContain('Ana Silva');
    const { book: closed } = open(folder, { isAllowed: () => false });
    expect(await closed.cards()).toEqual([]);
  });

  test('are those of the files that can be read', async () => {
    const folder = newFolder();
    writeAddressBook(folder);
    const [first = ''] = readdirSync(join(folder, 'Sources')).sort();
    const { book, become } = open(folder);
    await book.ready();
    const path = addressBookFile(folder, first);
    const stored = `${path}.stored`;
    renameSync(path, stored);
    writeFileSync(path, 'no database');
    await become({ '+15550101': undefined, '+15550130': undefined, 'cho@example.com': 'Cho Tanaka' });
    expect((await book.cards()).map(({ name }) => name)).not.toContain('Ben Okafor');
    renameSync(stored, path);
    await become({ '+15550101': 'Ben Okafor' });
    expect((await book.cards()).map(({ name }) => name)).toContain('Ben Okafor');
  });
});

describe('a search', () => {
  const folder = newFolder();

  test('finds each word anywhere, without case and accents, by name', async () => {
    writeAddressBook(folder);
    write(addressBookFile(folder), { first: 'Ánna', last: 'Åberg', nickname: 'Ninni', numbers: ['+15550199'] });
    const { book } = open(folder);
    const names = async (text: string, limit = 10) => (await book.search(text, limit)).map(({ name }) => name);
    expect(await names('an sil')).toEqual(['Ana Silva']);
    expect(await names('anna aberg')).toEqual(['Ánna Åberg']);
    expect(await names('ninni')).toEqual(['Ánna Åberg']);
    expect(await names('smith')).toEqual(['John Smith', 'John Smith']);
    expect(await names('5550130')).toEqual(['Lena Vogel', 'Max Vogel']);
    expect(await names('nobody')).toEqual([]);
    expect(await names('', 3)).toEqual(['Ana Silva', 'Ánna Åberg', 'Ben Okafor']);
  });

  test('gives a person of two accounts once, with all addresses', async () => {
    const { book } = open(folder);
    expect(await book.search('Ana Silva', 10)).toEqual([
      { name: 'Ana Silva', addresses: ['+15550100', 'ana@example.com'], nickname: null, organization: null },
    ]);
    expect(await book.named('BENJI')).toEqual([
      { name: 'Ben Okafor', addresses: ['+15550101', '+15550111'], nickname: 'Benji', organization: null },
    ]);
  });
});

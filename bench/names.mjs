// Measures names of people, and details of conversations.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { includeSet, NO_INCLUDES } from '../dist/src/core/model/include.js';
import { systemClock } from '../dist/src/core/runtime/clock.js';
import { AddressBook } from '../dist/src/features/contacts/address-book.js';
import { AddressBookSource, addressBookFile } from '../dist/src/features/simulator/address-book.js';
import { sideBySide, summary } from './figures.mjs';
import { load } from './http.mjs';
import { openReader } from './reader.mjs';
import { startService } from './service.mjs';

const SILENT = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
const CONTACTS = 10_000;
const MAX_LOAD_MS = 60;
const MAX_SLICE_MS = 20;
const MAX_DETAILS_US = 5000;

export async function nameRows(path, readPath, effort) {
  const home = homeAround(path);
  try {
    const { items } = await openReader(path).reader.listConversations({ limit: 200, offset: 0 });
    writeAddressBook(home.addressBook, [...new Set(items.flatMap(({ participants }) => participants))]);
    return [
      ...(await loadRows(home.addressBook, effort)),
      ...(await listRows(home.chatDb, effort)),
      await detailRow(readPath, effort),
    ];
  } finally {
    rmSync(home.folder, { recursive: true });
  }
}

/** Creates a home folder whose chat.db is a link to `path`, because the Address Book is found beside it. */
export function homeAround(path) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-home-'));
  const chatDb = join(folder, 'Library/Messages/chat.db');
  mkdirSync(dirname(chatDb), { recursive: true });
  symlinkSync(path, chatDb);
  return { folder, chatDb, addressBook: join(folder, 'Library/Application Support/AddressBook') };
}

function openBook(folder) {
  return new AddressBook({ folder, isAllowed: () => true, callingCode: () => '1', clock: systemClock, log: SILENT });
}

/**
 * Writes an Address Book of people with a number each, in the five ways in which people write numbers. Every second one
 * also has an e-mail address.
 */
export function writeAddressBook(folder, known = []) {
  const source = AddressBookSource.open(addressBookFile(folder, 'ACCOUNT'));
  source.transaction(() => {
    for (let n = 0; n < CONTACTS; n += 1) {
      const [area, end] = [200 + (n % 700), 1000 + (n % 9000)];
      const spellings = [
        `+1${area}555${end}`,
        `(${area}) 555-${end}`,
        `+1 ${area} 555 ${end}`,
        `1-${area}-555-${end}`,
        `001 ${area}.555.${end};ext=5`,
      ];
      const numbers = [spellings[n % 5], ...(n % 3 === 0 ? [`+1${area}556${end}`] : [])];
      const emails = n % 2 === 0 ? [`Person.${n}@Example.com`] : [];
      const address = known[n];
      if (address?.includes('@')) emails.push(address);
      else if (address !== undefined) numbers.push(address);
      source.person({ first: `First${n}`, last: `Last${n}`, numbers, emails });
    }
  });
  source.close();
}

/** Measures the processor time of loading everybody, and the longest time for which this blocked the event loop. */
async function loadRows(folder, { rounds }) {
  const [times, slices] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    const book = openBook(folder);
    const before = process.cpuUsage();
    let isDone = false;
    const done = book.ready().then(() => {
      isDone = true;
    });
    let longest = 0;
    let last = performance.now();
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    await done;
    const { user, system } = process.cpuUsage(before);
    if (round > 0) {
      times.push((user + system) / 1000);
      slices.push(longest);
    }
    await book.close();
  }
  const what = `${CONTACTS} contacts`;
  return [
    { what: `${what}: loaded, processor time`, postern: summary(times), unit: 'ms', bound: MAX_LOAD_MS },
    { what: `${what}: longest slice of the load`, postern: summary(slices), unit: 'ms', bound: MAX_SLICE_MS },
  ];
}

/** Measures lists over HTTP, with and without names in turn. */
async function listRows(path, { rounds, loadMs }) {
  const service = await startService(path);
  const rows = [];
  try {
    for (const [name, url, least] of [
      ['newest 50 messages', '/api/v1/messages?', 0.91],
      ['50 conversations', '/api/v1/conversations?', undefined],
    ]) {
      const measured = [[], []];
      for (let round = 0; round <= rounds; round += 1) {
        for (const [which, query] of ['include=contacts', ''].entries()) {
          const perSecond = await load(service.port, url + query, loadMs);
          if (round > 0) measured[which].push(perSecond);
        }
      }
      const [postern, rivals] = measured.map(summary);
      const ratio = postern.median / rivals.median;
      const what = `HTTP: ${name}, with names`;
      rows.push({ what, rival: 'without names', postern, rivals, unit: 'requests/s', ratio, least });
    }
  } finally {
    await service.stop();
  }
  return rows;
}

async function detailRow(path, effort) {
  const { reader, forget } = openReader(path, { isAfterCommit: true });
  const [postern, rivals] = await sideBySide(
    [includeSet(['details']), NO_INCLUDES].map((include) => async () => {
      forget();
      return JSON.stringify(await reader.listConversations({ limit: 50, offset: 0, include }));
    }),
    effort,
  );
  const what = '50 conversations with details, first after a commit';
  const ratio = postern.median / rivals.median;
  return { what, rival: 'without details', postern, rivals, unit: 'µs', ratio, bound: MAX_DETAILS_US };
}

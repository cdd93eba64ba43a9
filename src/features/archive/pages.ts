import { hash } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import type { Notes } from '../../core/model/sentence.ts';
import type { ArchiveIndex, ChainRecord } from './archive-index.ts';
import { chainOf, FIRST_PAGE } from './archive-layout.ts';
import type { ArchivedConversation } from './archived-line.ts';
import { lineWindow } from './chain.ts';
import { type ListedConversation, listHtml } from './first-page.ts';
import { Calendar } from './page-frame.ts';
import { sha256Of, writeWhole } from './private-files.ts';
import { writeYear, type YearPage } from './year-pages.ts';

export interface PagesParts {
  readonly folder: string;
  readonly index: ArchiveIndex;
  readonly names: NameLookup;
  /** How features say what they add to a message. */
  readonly notes: readonly Notes[];
  readonly timeZone: string;
  /** This Mac's name. */
  readonly mac: string;
  /** Time at which the run began, in ISO 8601. The list of conversations shows it. */
  readonly at: string;
  /** The time, Unix milliseconds. Messages of later dates are still to be sent. */
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** The SHA-256 of each page that an earlier run made. Key: the page's path in the archive. */
  readonly known: ReadonlyMap<string, string>;
  readonly onPage: (done: number, total: number) => void;
}

/** Version of the page layout. Pages of another version are rebuilt. */
const VERSION = 3;
/**
 * Maximum number of messages on a page. A year with more has a page for each month, and a month with more has several
 * pages.
 */
const MAX_MESSAGES = 20_000;

/**
 * Makes the list of conversations, and the pages of every year that has changed since its pages were made. Calls
 * `onPage` for every year, including years whose pages are still valid. Returns the SHA-256 of every page, by path;
 * undefined if `signal` was aborted.
 */
export async function makePages(parts: PagesParts): Promise<ReadonlyMap<string, string> | undefined> {
  const { folder, index, signal, names, known, onPage } = parts;
  const hashes = new Map<string, string>();
  const calendar = new Calendar(parts.timeZone);
  const now = Math.floor(parts.nowMs / 1000);
  const window = lineWindow();
  const list: ListedConversation[] = [];
  const total = index.countFiles();
  let done = 0;
  let isChanged = !known.has(FIRST_PAGE) || !existsSync(join(folder, FIRST_PAGE));
  for (const records of byConversation(index.files())) {
    const conversation = new Conversation(records, index, names, calendar, now);
    for (const year of conversation.years) {
      if (signal.aborted) return undefined;
      const mark = conversation.markOf(year.record);
      const paths = year.pages.map(({ name }) => `${dirname(year.record.path)}/${name}`);
      const isMade =
        year.record.page !== mark || !paths.every((path) => known.has(path) && existsSync(join(folder, path)));
      if (isMade) {
        await writeYear({ ...parts, calendar, window, conversation, record: year.record, pages: year.pages });
        removeOthers(folder, year.record, year.pages);
        index.setPage(year.record.id, mark);
        isChanged = true;
      }
      for (const path of paths) hashes.set(path, (isMade ? undefined : known.get(path)) ?? sha256Of(folder, path));
      done += 1;
      onPage(done, total);
    }
    list.push(conversation.listed());
  }
  if (isChanged) writeWhole(join(folder, FIRST_PAGE), listHtml(list, { mac: parts.mac, at: parts.at, calendar }).text);
  return hashes.set(FIRST_PAGE, (isChanged ? undefined : known.get(FIRST_PAGE)) ?? sha256Of(folder, FIRST_PAGE));
}

/** Yields the files in groups, one group for each conversation. */
function* byConversation(records: Iterable<ChainRecord>): Generator<readonly [ChainRecord, ...ChainRecord[]]> {
  let current: [ChainRecord, ...ChainRecord[]] | undefined;
  for (const record of records) {
    if (current?.[0].key === record.key) current.push(record);
    else {
      if (current !== undefined) yield current;
      current = [record];
    }
  }
  if (current !== undefined) yield current;
}

/** A conversation with its title and its list of years. Each page of the conversation shows both. */
class Conversation {
  readonly key: string;
  readonly title: string;
  readonly subtitle: string;
  readonly address: string;
  readonly isGroup: boolean;
  readonly years: { readonly record: ChainRecord; readonly year: string; readonly pages: readonly YearPage[] }[] = [];
  messages = 0;
  lastAt = 0;

  constructor(
    records: readonly [ChainRecord, ...ChainRecord[]],
    index: ArchiveIndex,
    names: NameLookup,
    calendar: Calendar,
    now: number,
  ) {
    const [{ key }] = records;
    const text = index.description(key);
    const described = text === undefined ? undefined : (JSON.parse(text) as ArchivedConversation | null);
    const { display_name: name = null, is_group: isGroup = false, participants = [], ids = [] } = described ?? {};
    const people = participants.map((address) => names.nameOf(address) ?? address);
    const hasNoId = ids.length === 0 && people.length === 0;
    this.key = key;
    this.isGroup = isGroup;
    this.title = name ?? (shortList(people) || ids[0] || (hasNoId ? 'Messages without a conversation' : key));
    this.address = (isGroup ? ids[0] : participants[0]) ?? key;
    this.subtitle = (name === null && people.length <= MAX_NAMED ? participants : people).join(', ');
    for (const record of records) this.#add(record, index, calendar, now);
  }

  #add(record: ChainRecord, index: ArchiveIndex, calendar: Calendar, now: number): void {
    const { messages, lastAt } = index.summary(record.id, now);
    const year = chainOf(record.path)?.year ?? '';
    const pages =
      messages <= MAX_MESSAGES
        ? [{ name: `${year}.html`, title: year, count: messages }]
        : pagesOf(year, index.months(record.id), calendar);
    this.years.push({ record, year, pages });
    this.messages += messages;
    // A year that has only messages to come does not count after another.
    if (this.lastAt === 0 || lastAt <= now) this.lastAt = Math.max(this.lastAt, lastAt);
  }

  /**
   * Returns this conversation's entry in the list of conversations. Entries are small enough to keep all of them in
   * memory.
   */
  listed(): ListedConversation {
    const { key, title, subtitle, address, messages, lastAt } = this;
    const years = this.years.flatMap(({ year, pages }) => {
      const [first, last] = [pages[0], pages.at(-1)];
      return first === undefined || last === undefined || first.count === 0
        ? []
        : [{ year, first: first.name, last: last.name }];
    });
    return { key, title, subtitle, address, messages, lastAt, years };
  }

  /**
   * Returns the mark of a year's pages: a hash of the page layout's version, the year's lines, the conversation's
   * title, its people and the names of all its pages. If the mark changes, the pages are rebuilt.
   */
  markOf({ head }: ChainRecord): string {
    const names = this.years.flatMap(({ pages }) => pages.map(({ name }) => name));
    return hash('sha256', [VERSION, head.hash, this.title, this.subtitle, ...names].join('\n'), 'hex').slice(0, 32);
  }
}

const MAX_NAMED = 4;

function shortList(people: readonly string[]): string {
  const more = people.length - MAX_NAMED;
  return people.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Returns the pages of a year with more than `max` messages, in order: one or more for each month. */
export function pagesOf(
  year: string,
  months: readonly (readonly [month: string, count: number])[],
  calendar: Pick<Calendar, 'month'>,
  max = MAX_MESSAGES,
): readonly YearPage[] {
  // A message keeps its file when its date moves to another year, so a month can occur twice.
  const parts = new Map<string, number>();
  return months.flatMap(([month, total]) => {
    const title = calendar.month(`${year}-${month}-15T00:00:00Z`);
    const before = parts.get(month) ?? 0;
    const pages = Math.ceil(total / max);
    parts.set(month, before + pages);
    return Array.from({ length: pages }, (_, at) => ({
      name: `${year}-${month}${before + at === 0 ? '' : `-${before + at + 1}`}.html`,
      title: before + pages === 1 ? title : `${title}, part ${before + at + 1}`,
      count: Math.min(max, total - at * max),
    }));
  });
}

function folderOf(folder: string, { path }: ChainRecord): string {
  return join(folder, dirname(path));
}

/** Removes old pages that the year no longer has, because the number of its messages has changed. */
function removeOthers(folder: string, record: ChainRecord, pages: readonly YearPage[]): void {
  const year = chainOf(record.path)?.year ?? '';
  const names = new Set(pages.map(({ name }) => name));
  for (const name of readdirSync(folderOf(folder, record))) {
    if (name.startsWith(year) && name.endsWith('.html') && !names.has(name)) {
      rmSync(join(folderOf(folder, record), name));
    }
  }
}

import { hash } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NameLookup } from '../domain/ports/contacts.ts';
import type { ArchiveIndex, ChainRecord } from './archive-index.ts';
import type { ArchivedConversation } from './archived-line.ts';
import { type ListedConversation, listHtml } from './first-page.ts';
import { chainOf, FIRST_PAGE } from './layout.ts';
import { Calendar } from './page-frame.ts';
import { writeWhole } from './private-files.ts';
import { writeYear, type YearPage } from './year-pages.ts';

export interface PagesParts {
  readonly folder: string;
  readonly index: ArchiveIndex;
  readonly names: NameLookup;
  readonly timeZone: string;
  /** This Mac's name. */
  readonly mac: string;
  /** When the run began. */
  readonly at: string;
  readonly signal: AbortSignal;
  readonly onPage: (done: number, total: number) => void;
}

/** Version of the page layout. Pages of another version are rebuilt. */
const VERSION = 1;
/** A year with more messages has a page for each month, and a month with more has several pages. */
const MAX_MESSAGES = 20_000;

/** Makes the pages of every year that has changed since its pages were made, and the list of conversations. */
export async function makePages(parts: PagesParts): Promise<void> {
  const { folder, index, signal, names, onPage } = parts;
  const calendar = new Calendar(parts.timeZone);
  const conversations = new Map<string, Conversation>();
  for (const record of index.files()) {
    const known = conversations.get(record.key) ?? new Conversation(record.key, index, names);
    known.add(record, calendar);
    conversations.set(record.key, known);
  }
  const outdated = [...conversations.values()].flatMap((conversation) =>
    conversation.years
      .map((year) => ({ conversation, year, mark: conversation.markOf(year.record) }))
      .filter(({ year, mark }) => year.record.page !== mark || !areThere(folder, year)),
  );
  for (const [at, { conversation, year, mark }] of outdated.entries()) {
    if (signal.aborted) return;
    await writeYear({ ...parts, calendar, conversation, record: year.record, pages: year.pages });
    removeOthers(folder, year.record, year.pages);
    index.setPage(year.record.id, mark);
    onPage(at + 1, outdated.length);
  }
  if (outdated.length === 0 && existsSync(join(folder, FIRST_PAGE))) return;
  const list: readonly ListedConversation[] = [...conversations.values()];
  writeWhole(join(folder, FIRST_PAGE), listHtml(list, { mac: parts.mac, at: parts.at, calendar }).text);
}

/** A conversation and its years, which all of its pages show. */
class Conversation implements ListedConversation {
  readonly key: string;
  readonly title: string;
  readonly subtitle: string;
  readonly isGroup: boolean;
  readonly years: { readonly record: ChainRecord; readonly year: string; readonly pages: readonly YearPage[] }[] = [];
  messages = 0;
  lastAt = 0;
  readonly #index: ArchiveIndex;

  constructor(key: string, index: ArchiveIndex, names: NameLookup) {
    const text = index.description(key);
    const described = text === undefined ? undefined : (JSON.parse(text) as ArchivedConversation | null);
    const { display_name: name = null, is_group: isGroup = false, participants = [], ids = [] } = described ?? {};
    const people = participants.map((address) => names.nameOf(address) ?? address);
    const hasNoId = ids.length === 0 && people.length === 0;
    this.key = key;
    this.#index = index;
    this.isGroup = isGroup;
    this.title = name ?? (shortList(people) || ids[0] || (hasNoId ? 'Messages of no conversation' : key));
    this.subtitle = (name === null && people.length <= MAX_NAMED ? participants : people).join(', ');
  }

  add(record: ChainRecord, calendar: Calendar): void {
    const { messages, lastAt } = this.#index.summary(record.id);
    const year = chainOf(record.path)?.year ?? '';
    const pages =
      messages <= MAX_MESSAGES
        ? [{ name: `${year}.html`, title: year, offset: 0, count: messages }]
        : pagesOf(year, this.#index.dates(record.id), calendar);
    this.years.push({ record, year, pages });
    this.messages += messages;
    this.lastAt = Math.max(this.lastAt, lastAt);
  }

  /**
   * Returns a mark that differs once the pages of a year must be rebuilt: because its messages changed, or the pages
   * that they link to.
   */
  markOf({ head }: ChainRecord): string {
    const names = this.years.flatMap(({ pages }) => pages.map(({ name }) => name));
    return hash('sha256', [VERSION, head.hash, this.title, ...names].join('\n'), 'hex').slice(0, 32);
  }
}

const MAX_NAMED = 4;

function shortList(people: readonly string[]): string {
  const more = people.length - MAX_NAMED;
  return people.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Returns the pages of a year in order, given the dates of its messages: one page, or one or more for each month. */
export function pagesOf(
  year: string,
  dates: readonly number[],
  calendar: Pick<Calendar, 'month'>,
  max = MAX_MESSAGES,
): readonly YearPage[] {
  if (dates.length <= max) return [{ name: `${year}.html`, title: year, offset: 0, count: dates.length }];
  const pages: YearPage[] = [];
  let offset = 0;
  while (offset < dates.length) {
    const month = monthOf(dates[offset]);
    let end = offset;
    while (end < dates.length && monthOf(dates[end]) === month) end += 1;
    const isOnly = end - offset <= max;
    for (let part = 1; offset < end; part += 1) {
      const count = Math.min(max, end - offset);
      const name = `${year}-${month}${part === 1 ? '' : `-${part}`}.html`;
      const title = `${calendar.month(`${year}-${month}-15T00:00:00Z`)}${isOnly ? '' : `, part ${part}`}`;
      pages.push({ name, title, offset, count });
      offset += count;
    }
  }
  return pages;
}

function monthOf(seconds = 0): string {
  return new Date(seconds * 1000).toISOString().slice(5, 7);
}

function folderOf(folder: string, { path }: ChainRecord): string {
  return join(folder, dirname(path));
}

function areThere(folder: string, { record, pages }: Conversation['years'][number]): boolean {
  return pages.every(({ name }) => existsSync(join(folderOf(folder, record), name)));
}

/** Removes the pages that were left from when this year had fewer messages, or more. */
function removeOthers(folder: string, record: ChainRecord, pages: readonly YearPage[]): void {
  const year = chainOf(record.path)?.year ?? '';
  const names = new Set(pages.map(({ name }) => name));
  for (const name of readdirSync(folderOf(folder, record))) {
    if (name.startsWith(year) && name.endsWith('.html') && !names.has(name))
      rmSync(join(folderOf(folder, record), name));
  }
}

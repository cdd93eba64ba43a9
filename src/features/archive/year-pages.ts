import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { counted } from '../../core/model/figures.ts';
import type { Message } from '../../core/model/message.ts';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import type { Notes } from '../../core/model/sentence.ts';
import { type ArchiveIndex, type ChainRecord, type Entry, REMOVED } from './archive-index.ts';
import { chainOf } from './archive-layout.ts';
import type { ArchivedLine } from './archived-line.ts';
import { avatarHtml } from './avatar-html.ts';
import { LineReader } from './chain.ts';
import { type Html, html } from './html.ts';
import { messageHtml, type ShownMessage } from './message-html.ts';
import { type Calendar, PAGE_END, pageBeginning } from './page-frame.ts';
import { Draft } from './private-files.ts';

/** One page of a year. It shows the next `count` messages by date, after those of the previous page. */
export interface YearPage {
  readonly name: string;
  readonly title: string;
  readonly count: number;
}

export interface YearParts {
  readonly folder: string;
  readonly index: ArchiveIndex;
  readonly names: NameLookup;
  readonly notes: readonly Notes[];
  readonly calendar: Calendar;
  readonly conversation: {
    readonly title: string;
    readonly subtitle: string;
    /** Decides the colour of the conversation: the other person's address, or the group's id. */
    readonly address: string;
    readonly isGroup: boolean;
    readonly years: readonly { readonly year: string; readonly pages: readonly YearPage[] }[];
  };
  readonly record: ChainRecord;
  readonly pages: readonly YearPage[];
  /** The buffer for reading lines, which all years share. */
  readonly window: Buffer;
}

/**
 * Number of characters to collect before each write. Small, because a text joined from many parts takes much memory.
 */
const CHUNK_CHARACTERS = 8192;

/** Writes the pages of one year, each completely or not at all. */
export async function writeYear(parts: YearParts): Promise<void> {
  const { folder, record, pages, index } = parts;
  const reader = new LineReader(join(folder, record.path), parts.window);
  // The pages take their messages from this one iterator, in turn.
  const entries = index.byDate(record.id);
  try {
    for (const page of pages) await writePage(parts, page, entries, reader);
  } finally {
    reader.close();
  }
}

async function writePage(
  parts: YearParts,
  page: YearPage,
  entries: Iterator<Entry, undefined>,
  reader: LineReader,
): Promise<void> {
  const { folder, record, index, calendar, names, notes, conversation } = parts;
  const draft = new Draft(join(folder, dirname(record.path), page.name));
  try {
    let waiting = beginning(parts, page).text;
    let before: Message | undefined;
    let day = '';
    let month = '';
    for (let left = page.count; left > 0; left -= 1) {
      const { value: entry } = entries.next();
      const shown = entry === undefined ? undefined : shownOf(entry, reader);
      if (shown === undefined) continue;
      const { timestamp } = shown.message;
      const today = calendar.day(timestamp);
      const anchor = monthOf(timestamp) !== month && html` id="${idOfMonth(monthOf(timestamp))}"`;
      if (today !== day) {
        waiting += `${day === '' ? '' : '</section>\n'}${html`<section${anchor}><h2>${today}</h2>\n`.text}`;
        before = undefined;
      } else if (anchor) waiting += html`<span${anchor}></span>\n`.text;
      day = today;
      month = monthOf(timestamp);
      const isOnPage = (guid: string): boolean => isOn(page, index, record, guid);
      waiting += messageHtml(shown, { names, notes, calendar, isGroup: conversation.isGroup, isOnPage, before }).text;
      before = shown.message;
      if (waiting.length < CHUNK_CHARACTERS) continue;
      draft.write(waiting);
      waiting = '';
      await nextTurn();
    }
    draft.write(`${waiting}${day === '' ? '' : '</section>\n'}${ending(parts).text}`);
    draft.keep();
    await nextTurn();
  } finally {
    draft.discard();
  }
}

/** Reads the lines of a row; returns undefined if none of them is a message. */
function shownOf(entry: Entry, reader: LineReader): ShownMessage | undefined {
  const starts = [...entry.earlier.split(',').filter(Boolean).map(Number), entry.start];
  const isRemoved = entry.print === REMOVED;
  const lines = starts.map((start) => JSON.parse(reader.at(start)) as ArchivedLine);
  const messages = lines.filter((line) => line.message !== undefined);
  const last = messages.at(-1);
  if (last?.message === undefined) return undefined;
  const earlier = messages.slice(0, -1).map(({ message }) => message as Message);
  return { message: last.message, files: last.files ?? [], earlier, isRemoved };
}

/**
 * Reports whether a message is certainly on this page. The index says only which year contains the message, so returns
 * true only if this page shows the whole year.
 */
function isOn({ name }: YearPage, index: ArchiveIndex, record: ChainRecord, guid: string): boolean {
  return name.length === '2026.html'.length && index.entries([guid]).get(guid)?.file === record.id;
}

/** Returns the month of a date in UTC, such as `05`. */
const monthOf = (iso: string): string => iso.slice('2026-'.length, '2026-05'.length);

const idOfMonth = (month: string): string => `m${month}`;

/** A year with this many messages can be read through without links to its months. */
const MAX_WITHOUT_MONTHS = 100;

/** Returns the links to the months of a year: to pages, or to places on its only page. */
function monthLinksOf({ record, pages, index, calendar }: YearParts, page: YearPage): readonly Html[] {
  if (pages.length > 1) return pages.map(({ name, title }) => linkTo(name, title, name === page.name));
  const months = page.count > MAX_WITHOUT_MONTHS ? index.months(record.id) : [];
  if (months.length < 2) return [];
  return months.map(([month]) => linkTo(`#${idOfMonth(month)}`, calendar.month(`2026-${month}-15T00:00:00Z`), false));
}

function beginning(parts: YearParts, page: YearPage): Html {
  const { conversation, record, pages } = parts;
  const { title, subtitle, years } = conversation;
  const year = chainOf(record.path)?.year ?? '';
  const yearLinks = years.flatMap((one) => {
    const [first] = one.pages;
    return first === undefined || first.count === 0 ? [] : [linkTo(first.name, one.year, one.year === year)];
  });
  const monthLinks = monthLinksOf(parts, page);
  const shownYear = pages.length > 1 ? `${page.title} ${year}` : year;
  return html`${pageBeginning(`${title}, ${shownYear}`)}<div class="bar">
<nav aria-label="Archive"><a href="../../index.html">All conversations</a>${yearLinks}</nav>
${monthLinks.length > 0 && html`<nav aria-label="Months">${monthLinks}</nav>\n`}</div>
<header>
<h1>${avatarHtml(title, conversation.address)}<bdi>${title}</bdi></h1>
<p>${subtitle !== '' && subtitle !== title && html`<bdi>${subtitle}</bdi> · `}${shownYear} · ${counted(page.count, 'message')}</p>
</header>
<main>
`;
}

function linkTo(name: string, text: string, isCurrent: boolean): Html {
  return isCurrent ? html` <span aria-current="page">${text}</span>` : html` <a href="${name}">${text}</a>`;
}

function ending({ record, calendar }: YearParts): Html {
  const file = record.path.slice(record.path.lastIndexOf('/') + 1);
  return html`</main>
<footer>Made from ${file}, up to line ${record.head.lines}. Times are in the time zone ${calendar.timeZone}.</footer>
${PAGE_END}`;
}

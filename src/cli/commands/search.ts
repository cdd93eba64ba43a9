import type { PosternClient, SearchFilter, SearchHit, SearchResults } from '../../client/postern-client.ts';
import type { Clock } from '../../domain/ports/host.ts';
import type { SearchReport } from '../../domain/status.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { messageText, whoIn } from '../output/event-line.ts';
import { marked, painted } from '../output/highlight.ts';
import { directionStyle, isColoured } from '../output/style.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json, printable } from '../output/text.ts';
import { shownTime } from '../output/time.ts';
import { type ConnectionOptions, Refusal, withService } from '../service-connection.ts';

export interface SearchOptions extends ConnectionOptions {
  readonly limit?: number;
  /** Shows the index's progress instead of searching. */
  readonly status?: boolean;
}

const COLUMNS: readonly Column[] = [
  { title: 'ROW' },
  { title: 'TIME', style: () => 'dim' },
  { title: ' ', style: directionStyle },
  { title: 'WHO', isFlexible: true, least: 12 },
  { title: 'TEXT', isFlexible: true, least: 20 },
];
/** The maximum page size. */
const PAGE = 200;
/** Polls slowly, because all clients share the rate limit. */
const LOOK_EVERY_MS = 3000;
const BAR_COLUMNS = 30;
const PREVIOUS_LINE = '\x1b[1A\x1b[2K';

/** `postern search`: prints messages with these words, newest first. */
export function search(
  words: readonly string[],
  { limit = 20, status = false, ...options }: SearchOptions,
  context: ClientContext,
  clock: Clock = systemClock,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    if (status) return showIndex(client, options, context, clock);
    if (words.length === 0) throw new Refusal(EXIT.usage, 'Say what to search for, as in: postern search dinner');
    // --json prints the service's plain answer, without extra includes.
    const filter: SearchFilter = options.json === true ? {} : { include: ['contacts', 'details'] };
    const { hits, isMore, ...results } = await find(client, words.join(' '), limit, filter);
    if (options.json === true) context.stdout(json(hits, 2));
    else showHits(hits, context);
    if (isMore && options.json !== true) context.stderr(`There are more: --limit ${limit * 2} shows them.`);
    if (!results.isComplete) context.stderr(incomplete(results.from));
    return EXIT.ok;
  });
}

async function find(client: PosternClient, query: string, limit: number, filter: SearchFilter) {
  const hits: SearchHit[] = [];
  let page: SearchResults | undefined;
  do {
    page = await client.search(query, { ...filter, limit: Math.min(PAGE, limit - hits.length), cursor: page?.cursor });
    hits.push(...page.hits);
  } while (page.cursor !== undefined && hits.length < limit);
  return { hits, isMore: page.cursor !== undefined, isComplete: page.isComplete, from: page.from };
}

function showHits(hits: readonly SearchHit[], context: ClientContext): void {
  const isPainted = isColoured(context.environment, context.isTerminal);
  const rows = hits.map(({ message, highlights }) => {
    const { id, timestamp, is_from_me: isOwn, body } = message;
    const text = messageText(isPainted ? { ...message, body: marked(body, highlights) } : message);
    return [id, shownTime(timestamp, systemClock.now()), isOwn ? '→' : '←', whoIn(message), text];
  });
  const stdout = (...lines: readonly string[]): void => context.stdout(...lines.map(isPainted ? painted : String));
  sayTable({ ...context, stdout }, COLUMNS, rows, 'No message was found.');
}

function incomplete(from: string | undefined): string {
  const since = from === undefined ? '' : ` so far it has the messages since ${from};`;
  return `The index is still being built:${since} postern search --status shows how far it is.`;
}

/** Prints one line, or on a terminal a bar until the index is complete. Exits with 69 while the index is unusable. */
async function showIndex(client: PosternClient, options: ConnectionOptions, context: ClientContext, clock: Clock) {
  const isBar = context.isTerminal && options.json !== true;
  let report = await reportOf(client);
  if (options.json === true) context.stdout(json(report, 2));
  else context.stdout(lineOf(report, isBar));
  if (isBar && report.state === 'building') {
    const signal = context.untilEnded();
    while (report.state === 'building') {
      await nextLook(signal, clock);
      if (signal.aborted) return EXIT.ok;
      report = await reportOf(client);
      context.stdout(PREVIOUS_LINE + lineOf(report, true));
    }
  }
  return report.state === 'failing' ? EXIT.unavailable : EXIT.ok;
}

async function reportOf(client: PosternClient): Promise<SearchReport> {
  const { search: report } = await client.status();
  if (report !== undefined) return report;
  throw new Refusal(
    EXIT.refusedInput,
    'Search is switched off.',
    'Set enabled = true in the section [search] of config.toml and start Postern again.',
  );
}

function lineOf(
  { state, indexed_rows: rows, total_rows: total, indexed_from: from, problem }: SearchReport,
  isBar: boolean,
) {
  if (state === 'failing') return printable(`Search does not work now: ${problem ?? 'the reason is not known'}.`);
  if (state === 'complete') return `The search index is complete: ${rows.toLocaleString('en')} messages.`;
  const share = total === 0 ? 0 : Math.min(1, rows / total);
  const filled = Math.round(share * BAR_COLUMNS);
  const bar = isBar ? ` [${'#'.repeat(filled)}${'-'.repeat(BAR_COLUMNS - filled)}]` : '';
  const since = from === null ? '' : `, messages since ${from.slice(0, 10)}`;
  return `Building the search index:${bar} ${Math.floor(share * 100)} %${since}`;
}

function nextLook(signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(LOOK_EVERY_MS, resolve);
    signal.addEventListener('abort', () => {
      cancel();
      resolve();
    });
  });
}

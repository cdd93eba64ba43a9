import type { PosternClient, SearchFilter, SearchHit, SearchResults } from '../../client/postern-client.ts';
import type { Highlight, SearchReport } from '../../client/search-types.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { MESSAGE_LIST, messageRow } from '../../core/cli/output/event-line.ts';
import { isColoured } from '../../core/cli/output/style.ts';
import { sayTable } from '../../core/cli/output/table.ts';
import { printable } from '../../core/cli/output/text.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { isTimeZone } from '../../core/model/day-start.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { localTimeZone, pause, systemClock } from '../../core/runtime/clock.ts';

export interface SearchOptions extends ConnectionOptions {
  readonly limit?: number;
  /** True to show the index's progress instead of searching. */
  readonly status?: boolean;
}

/** Maximum number of hits that the service returns in one page. */
const PAGE = 200;
/** Interval at which `--status` asks for the index's progress. Long, because all clients share one rate limit. */
const LOOK_EVERY_MS = 3000;
const BAR_COLUMNS = 30;
const PREVIOUS_LINE = '\x1b[1A\x1b[2K';

/** `postern search`: prints the messages that contain `words`, newest first. */
export async function searchCommand(
  words: readonly string[],
  { limit = 20, status = false, json = false }: SearchOptions,
  service: Served,
  clock: Clock = systemClock,
): Promise<number> {
  if (status) return showIndex(json, service, clock);
  if (words.length === 0) throw new Refusal(EXIT.usage, 'Say what to search for, as in: postern search dinner');
  // With --json, prints hits as the service returns them by default, without names and details.
  const zone = localTimeZone();
  const filter: SearchFilter = {
    ...(isTimeZone(zone) && { time_zone: zone }),
    ...(!json && { include: ['contacts', 'details'] }),
  };
  const { hits, isMore, ...results } = await find(service.client, words.join(' '), limit, filter);
  if (json) service.answer(hits);
  else showHits(hits, service);
  if (isMore && !json) service.stderr(`There are more: --limit ${limit * 2} shows them.`);
  if (!results.isComplete) service.stderr(incomplete(results.from));
  return EXIT.ok;
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

function showHits(hits: readonly SearchHit[], context: Served): void {
  const isPainted = isColoured(context.environment, context.isTerminal);
  const rows = hits.map(({ message, highlights }) => {
    const shown = isPainted ? { ...message, body: marked(message.body, highlights) } : message;
    return messageRow(shown, systemClock.now());
  });
  const stdout = (...lines: readonly string[]): void => context.stdout(...lines.map(isPainted ? painted : String));
  sayTable({ ...context, stdout }, MESSAGE_LIST, rows, 'No message was found.');
}

function incomplete(from: string | undefined): string {
  const since = from === undefined ? '' : ` so far it has the messages since ${from};`;
  return `The index is still being built:${since} \`postern search --status\` shows how far it is.`;
}

/**
 * Prints the progress of the index once; on a terminal, updates it as a bar until the index is complete. Returns exit
 * code 69 if the index does not work.
 */
async function showIndex(isJson: boolean, { client, isTerminal, answer, stdout, untilEnded }: Served, clock: Clock) {
  const isBar = isTerminal && !isJson;
  let report = await reportOf(client);
  answer(report, lineOf(report, isBar));
  if (isBar && report.state === 'building') {
    const signal = untilEnded();
    while (report.state === 'building') {
      await pause(clock, LOOK_EVERY_MS, signal);
      if (signal.aborted) return EXIT.ok;
      report = await reportOf(client);
      stdout(PREVIOUS_LINE + lineOf(report, true));
    }
  }
  return report.state === 'failing' ? EXIT.unavailable : EXIT.ok;
}

async function reportOf(client: PosternClient): Promise<SearchReport> {
  const { search: report } = (await client.status()) as { readonly search?: SearchReport };
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

/** Zero-width characters that mark matches while the table is laid out. `painted` then replaces them. */
const BEGIN = '\u2061';
const END = '\u2062';
const MARKS = /[\u2061\u2062]/g;
/** Begins bold and underlined text, which is readable on any background. */
const ON = '\x1b[1;4m';
const OFF = '\x1b[22;24m';
/** If more characters than this precede the first match, only the last `KEPT_BEFORE` of them are shown. */
const MAX_BEFORE = 20;
const KEPT_BEFORE = 12;

/** Marks the matches in a text, and cuts the text to begin shortly before the first match. */
function marked(text: string, highlights: readonly Highlight[]): string {
  const first = highlights[0]?.[0] ?? 0;
  let end = first > MAX_BEFORE ? first - KEPT_BEFORE : 0;
  // Moves the beginning back by one unit if it would split a surrogate pair.
  if (/[\udc00-\udfff]/.test(text.charAt(end))) end -= 1;
  const parts = end === 0 ? [] : ['…'];
  for (const [start, stop] of highlights) {
    parts.push(plain(text.slice(end, start)), BEGIN, plain(text.slice(start, stop)), END);
    end = stop;
  }
  return parts.join('') + plain(text.slice(end));
}

/** Replaces marks by escape sequences. Closes a mark whose end was cut off. */
function painted(line: string): string {
  const shown = line.replaceAll(BEGIN, ON).replaceAll(END, OFF);
  return shown.lastIndexOf(ON) > shown.lastIndexOf(OFF) ? shown + OFF : shown;
}

function plain(text: string): string {
  return text.replace(MARKS, '');
}

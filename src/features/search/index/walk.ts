import { secondAt } from '../../../core/chatdb/public.ts';
import { DAY_MS } from '../../../core/model/durations.ts';
import type { Clock } from '../../../core/model/ports/host-ports.ts';
import type { IndexSource, ListedRow } from '../ports.ts';
import { type DocumentKey, Documents, LAST_ID } from './documents.ts';
import type { IndexState, Progress } from './index-state.ts';
import type { RowsAgain, WalkPosition } from './index-writer.ts';
import type { Pace } from './pace.ts';

/** Number of rows that `IndexSource.listed` returns at once. */
const LISTED = 500;
/** Number of lists of `LISTED` rows in a block. */
const LISTS = 4;
/** Number of rows passed to the writer at once. Writing them takes about 15 ms. */
const GIVEN = 500;
const SOON_MS = 60_000;

/**
 * Calls `IndexWriter` with the path of this index while nothing else writes to it. Runs in the reader thread if there
 * is one.
 */
export interface IndexWriting {
  add(rows: readonly ListedRow[], again: RowsAgain): Promise<number>;
  advance(from: WalkPosition, to: Pick<Progress, 'next' | 'reached'>): Promise<boolean>;
  merge(isFirst: boolean): Promise<boolean>;
}

export interface WalkParts {
  readonly state: IndexState;
  readonly documents: Documents;
  readonly source: IndexSource;
  readonly pace: Pace;
  readonly clock: Clock;
  readonly write: IndexWriting;
  /** Re-indexes documents whose message was deleted or has moved. */
  readonly repair: (keys: readonly DocumentKey[]) => void;
}

/**
 * Walks from the newest message to the oldest, block by block, and indexes the messages that the index lacks. The first
 * walk fills the index; after that, a walk each day compares the index with chat.db. Inside a block, the oldest message
 * is added first, because SQLite fills its pages only if ids ascend.
 *
 * Stores its progress after each block. After a crash, repeats the block, but skips the messages that were already
 * added. Resolves when the pace is stopped. Rejects with the first failure.
 */
export async function walkIndex(parts: WalkParts): Promise<void> {
  const { state, pace, clock } = parts;
  while (!pace.isStopped) {
    const { next, isComplete, checkedAtMs } = state.progress();
    // Uses the absolute difference: a clock that was set back must not delay the next walk.
    const ageMs = Math.abs(clock.now() - checkedAtMs);
    if (next === null && isComplete && ageMs < DAY_MS) await pace.sleep(Math.max(SOON_MS, DAY_MS - ageMs));
    else await walkBlock(parts, next);
  }
}

async function walkBlock(parts: WalkParts, from: string | null): Promise<void> {
  const { state, pace, clock, write } = parts;
  const { rows, next } = await list(parts, from);
  const { reached, again } = state.progress();
  const oldestFirst = rows.toReversed();
  for (let at = 0; at < oldestFirst.length && !pace.isStopped; ) {
    at += await pace.rest(() => write.add(oldestFirst.slice(at, at + GIVEN), again));
  }
  const oldest = rows.at(-1)?.second ?? 0;
  await compare(parts, rows, from, next === undefined);
  if (pace.isStopped) return;
  const to = { next: next ?? null, reached: Math.min(oldest, reached ?? oldest) };
  const isStored = await write.advance({ next: from, again }, to);
  if (!isStored || next !== undefined) return;
  const walkedAtMs = clock.now();
  if (state.progress().removed > 0) await merge(parts);
  if (!pace.isStopped) state.checked(walkedAtMs);
}

async function list(
  { pace, source }: WalkParts,
  from: string | null,
): Promise<{ readonly rows: readonly ListedRow[]; readonly next: string | undefined }> {
  const rows: ListedRow[] = [];
  let next = from ?? undefined;
  for (let list = 0; list < LISTS; list += 1) {
    const found = await pace.rest(() => source.listed(next, LISTED));
    rows.push(...found.rows);
    next = found.next;
    if (next === undefined) break;
  }
  return { rows, next };
}

/**
 * Checks the documents from the end of the previous block to the end of these rows, so that no second between two
 * blocks is left out. If the message of a document was deleted or has moved, passes the document to `repair`.
 */
async function compare(
  { documents, source, pace, repair }: WalkParts,
  rows: readonly ListedRow[],
  previous: string | null,
  isOldest: boolean,
): Promise<void> {
  const known = new Set(rows.map(({ rowId }) => rowId));
  const before = previous === null ? LAST_ID : secondAt(previous);
  for (let from = isOldest ? 0 : Math.max(0, rows.at(-1)?.second ?? 0); from < before && !pace.isStopped; ) {
    const keys = documents.between(from, before, LISTED);
    const others = keys.filter(({ row }) => !known.has(row));
    const messages = source.messages(others.map(({ row }) => row));
    repair(
      others.filter(({ id, row }, index) => {
        const message = messages[index];
        return message === undefined || !Documents.isIdOf(id, row, message);
      }),
    );
    if (keys.length < LISTED) return;
    from = (keys.at(-1)?.id ?? before) + 1;
    await pace.sleep(1);
  }
}

/** Merges the index into one piece. This drops the words of removed documents and makes queries faster. */
async function merge({ state, pace, write }: WalkParts): Promise<void> {
  const { removed } = state.progress();
  for (let isFirst = true, isMore = true; isMore && !pace.isStopped; isFirst = false) {
    isMore = await pace.rest(() => write.merge(isFirst));
  }
  if (!pace.isStopped) state.merged(removed);
}

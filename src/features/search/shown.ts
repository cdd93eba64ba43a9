import { oneLine } from '../../core/cli/output/text.ts';
import type { ShownStatus } from '../../core/feature.ts';
import type { SearchReport } from './ports.ts';

/** Returns the line of `postern status` about the search index. */
export function shownSearch(report: SearchReport): ShownStatus {
  return { label: 'Search', text: textOf(report) };
}

function textOf({
  state,
  indexed_rows: rows,
  total_rows: total,
  problem,
  skipped_rows: skipped = 0,
}: SearchReport): string {
  if (state === 'failing') return oneLine(`does not work now: ${problem ?? 'the reason is not known'}`);
  const text = state === 'complete' ? `${rows} messages` : `building the index, ${rows} of at most ${total} messages`;
  return skipped === 0 ? text : `${text}, ${skipped} by their text only`;
}

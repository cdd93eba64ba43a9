import type { SearchReport } from '../../client/search-types.ts';
import { type Finding, finding, ok } from '../../core/model/finding.ts';

/** Returns what doctor says about the index. */
export function searchFindings(search: SearchReport): readonly Finding[] {
  const { state, problem, indexed_rows: rows, total_rows: total } = search;
  if (problem !== null) {
    const hint = 'The rest of Postern is not affected. Make room on the disk, or look at the log.';
    return [finding('warning', 'search', `Search does not work as it should: ${problem}.`, hint)];
  }
  const sentence =
    state === 'complete'
      ? `All ${rows} messages can be searched.`
      : `The search index has ${rows} of about ${total} rows.`;
  return [ok('search', sentence), ...skippedFindings(search)];
}

function skippedFindings({ skipped_rows: count = 0, skipped_ids: ids = [] }: SearchReport): readonly Finding[] {
  if (count === 0) return [];
  const named = `${ids.join(', ')}${ids.length < count ? ', …' : ''}`;
  const sentence = `The content of ${count} messages is not in the search index, because decoding it did not end: ${named}.`;
  const hint =
    'Search finds them by their text. To try again, for example with a newer Postern, stop Postern and delete search.db.';
  return [finding('warning', 'search_skipped', sentence, hint)];
}

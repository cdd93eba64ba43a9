import { decodeAttributedBody } from './attributed-body.ts';
import { toText } from './columns.ts';
import { RowBudget } from './content/row-budget.ts';
import { newestVersions, readSummaryInfo } from './content/summary-info.ts';
import { isFilled, type Snapshot } from './snapshot.ts';

/**
 * Returns the newest text of an edited row: the one in attributedBody, else the last version of each part in
 * message_summary_info. The column `text` can still hold the original (imsgcrawl, pull request 8), so it counts only if
 * the row has no other text. Returns undefined if the newest text is unreadable.
 */
export function editedBody(snapshot: Snapshot, rowId: number): string | undefined {
  const [text, body, summary] = snapshot.database.get(snapshot.queries.editedBody, rowId) ?? [];
  const blob = snapshot.largeBlob(body);
  const current = blob && decodeAttributedBody(blob);
  if (current !== undefined) return current;
  const bytes = snapshot.largeBlob(summary);
  const texts = newestVersions(bytes && readSummaryInfo(bytes, new RowBudget())).map((version) => version.text);
  if (texts.length > 0) return texts.includes(null) ? undefined : texts.join('');
  return isFilled(body) ? undefined : toText(text);
}

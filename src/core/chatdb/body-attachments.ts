import { readAttributedText } from './content/attributed-runs.ts';
import { RunReader } from './content/parts.ts';
import { RowBudget } from './content/row-budget.ts';

/**
 * Returns the guids of the attachments that a body refers to, each with its name; undefined if the body is unreadable.
 */
export function namedAttachments(body: Uint8Array): ReadonlyMap<string, string> | undefined {
  const budget = new RowBudget();
  const text = readAttributedText(body, budget);
  if (text?.runs === undefined) return undefined;
  const parts = new RunReader(budget).parts(text);
  return new Map(
    parts.flatMap(({ runs = [] }) => runs.map((run) => [run.attachment_guid ?? '', run.name ?? ''] as const)),
  );
}

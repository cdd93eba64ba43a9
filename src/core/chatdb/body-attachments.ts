import { readAttributedText } from './content/attributed-runs.ts';
import { RunReader } from './content/parts.ts';
import { RowBudget } from './content/row-budget.ts';

const PLACEHOLDER = Buffer.from('\uFFFC');

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

/** Counts the characters in a body that stand for an attachment. */
export function placeholdersInBody(body: Uint8Array): number {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  let count = 0;
  for (let at = bytes.indexOf(PLACEHOLDER); at >= 0; at = bytes.indexOf(PLACEHOLDER, at + PLACEHOLDER.length)) {
    count += 1;
  }
  return count;
}

import type { ClientContext } from '../context.ts';
import { columnsOf, fitted, oneLine } from './text.ts';

const GAP = '  ';

export interface Column {
  readonly title: string;
  /** Gives way when the terminal is narrow; the others keep what they need. */
  readonly isFlexible?: boolean;
  /** What a flexible column is not made narrower than. */
  readonly least?: number;
}

/** Prints a table as wide as the terminal; `none`, beside what a script reads, when there are no rows. */
export function sayTable(
  { stdout, stderr, columns: width }: ClientContext,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  none: string,
): void {
  if (rows.length === 0) stderr(none);
  else stdout(...table(columns, rows, width));
}

/** Lines of a table that fits `width` columns; of any width when that is undefined. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): readonly string[] {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map(oneLine))];
  const wanted = columns.map((_, place) => Math.max(...lines.map((line) => columnsOf(line[place] ?? ''))));
  const widths = width === undefined ? wanted : narrowed(columns, wanted, width);
  return lines.map((line) =>
    line
      .map((text, place) => padded(text, widths[place] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** Takes from the widest flexible column until all fit, or none can give any more. */
function narrowed(columns: readonly Column[], wanted: readonly number[], width: number): readonly number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (columns.length - 1)) - width;
  while (excess > 0) {
    const spare = columns.map(({ isFlexible, least = 8 }, place) => (isFlexible ? (widths[place] ?? 0) - least : 0));
    const place = spare.indexOf(Math.max(...spare));
    if ((spare[place] ?? 0) <= 0) break;
    widths[place] = (widths[place] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function padded(text: string, columns: number): string {
  const cut = fitted(text, columns);
  return cut + ' '.repeat(Math.max(0, columns - columnsOf(cut)));
}

import type { Context } from '../context.ts';
import { type Paint, painter, type Style } from './style.ts';
import { columnsOf, fitted, oneLine } from './text.ts';

const GAP = '  ';

export interface Column {
  readonly title: string;
  /** True if the column may shrink on a narrow terminal. Other columns keep their width. */
  readonly isFlexible?: boolean;
  /** The minimum width of a flexible column. */
  readonly least?: number;
  /** Chooses a cell's style on a terminal. */
  readonly style?: (cell: string) => Style | undefined;
}

/**
 * If the table is too wide even with all flexible columns at their `least`, these columns shrink further, down to this
 * width.
 */
const MIN_COLUMNS = 4;

/** Prints a table that fits the terminal. Without rows, prints `none` on stderr, so that a script does not read it. */
export function sayTable(
  { stdout, stderr, columns: width, paint }: Context,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  none: string,
): void {
  if (rows.length === 0) stderr(none);
  else stdout(...table(columns, rows, width, paint));
}

/** Returns the lines of a table that fits `width` columns. If `width` is undefined, the table may have any width. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
  paint: Paint = painter(false),
): readonly string[] {
  const titles = columns.map(({ title }) => title);
  const cells = rows.map((row) => row.map(oneLine));
  const wanted = columns.map((_, index) => Math.max(...[titles, ...cells].map((row) => columnsOf(row[index] ?? ''))));
  const widths = width === undefined ? wanted : narrowed(columns, wanted, width);
  const line = (row: readonly string[], styleOf: (cell: string, index: number) => Style | undefined): string =>
    row
      .map((text, index) => {
        const cell = fitted(text, widths[index] ?? 0);
        // Adds no spaces after the last cell, because they would be copied along with the text.
        const gap = index === row.length - 1 ? '' : ' '.repeat((widths[index] ?? 0) - columnsOf(cell));
        return paint(styleOf(text, index), cell) + gap;
      })
      .join(GAP)
      .trimEnd();
  return [line(titles, () => 'bold'), ...cells.map((row) => line(row, (text, index) => columns[index]?.style?.(text)))];
}

/** Shrinks the widest flexible column until all fit or none can shrink further. */
function narrowed(columns: readonly Column[], wanted: readonly number[], width: number): readonly number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (columns.length - 1)) - width;
  const take = (leastOf: (column: Column) => number): void => {
    while (excess > 0) {
      const spare = columns.map((column, index) => (column.isFlexible ? (widths[index] ?? 0) - leastOf(column) : 0));
      const index = spare.indexOf(Math.max(...spare));
      if ((spare[index] ?? 0) <= 0) break;
      widths[index] = (widths[index] ?? 0) - 1;
      excess -= 1;
    }
  };
  take(({ least = 8 }) => least);
  take(() => MIN_COLUMNS);
  return widths;
}

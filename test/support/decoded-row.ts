import { type ContentRow, type DecodedRow, decodeRow } from '../../src/core/chatdb/content/message-content.ts';
import { RowBudget, type StoredBlob } from '../../src/core/chatdb/content/row-budget.ts';
import { cardOf } from '../../src/features/content/cards.ts';
import { detectedIn } from '../../src/features/content/detected-data.ts';

/** The columns from which everything in a row is decoded. */
export type WholeRow = ContentRow & { readonly payload: StoredBlob };

/** Decodes a row as the reader thread does, but for what is in other rows. */
export function decodeWhole(row: WholeRow, budget = new RowBudget()): DecodedRow {
  return decodeRow(row, budget, { runs: [detectedIn], read: (text, left) => cardOf(text, row.payload, left) });
}

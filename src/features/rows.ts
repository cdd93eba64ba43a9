import type { RowFeature } from '../core/row-feature.ts';
import { changeRows } from './changes/rows.ts';
import { searchRows } from './search/rows.ts';

/** The parts of features that run in the reader thread. */
export const ROW_FEATURES: readonly RowFeature[] = [changeRows, searchRows];

import type { Decoder } from '../core/chatdb/public.ts';
import type { RowFeature } from '../core/row-feature.ts';
import { changeRows } from './changes/rows.ts';
import { contentDecoder } from './content/rows.ts';
import { searchRows } from './search/rows.ts';

/** The decoders of all features, for each row. */
export const DECODERS: readonly Decoder[] = [contentDecoder];

/** The parts of features that run in the reader thread. */
export const ROW_FEATURES: readonly RowFeature[] = [changeRows, searchRows];

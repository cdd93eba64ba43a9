import { Fingerprints } from '../../core/chatdb/public.ts';
import type { RowFeature } from '../../core/row-feature.ts';
import { checkpoint } from './checkpoint.ts';

/** The objects in the reader thread that the detection of changes calls. */
export interface ChangeTargets {
  readonly prints: Pick<Fingerprints, 'range' | 'origins'>;
  readonly files: { readonly checkpoint: typeof checkpoint };
}

export const changeRows: RowFeature<ChangeTargets> = (connection) => {
  const prints = new Fingerprints(connection);
  return { prints: () => prints, files: () => ({ checkpoint }) };
};

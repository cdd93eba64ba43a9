import type { SearchReport } from '../../src/client/types.ts';
import type { StatusReport } from '../../src/core/model/status.ts';

/** The status of a service that has search. */
export interface StatusWithSearch extends StatusReport {
  readonly search?: SearchReport | undefined;
}

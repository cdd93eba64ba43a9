import type { Caller } from '../caller.ts';
import type { IncludeSet } from '../include.ts';
import type { Narrowing } from '../narrowing.ts';
import type { ClientOffset } from '../offset.ts';

/** What a client that is sent every event asked for. */
export interface StreamRequest {
  /** Absent: from now on, and a client that is too slow loses the oldest. */
  readonly after: ClientOffset | undefined;
  readonly changes: boolean;
  readonly include: IncludeSet;
  readonly narrowing: Narrowing;
  readonly caller: Caller;
}

/** Server-Sent Events, or one JSON text a line (decision Q1). */
export type StreamForm = 'sse' | 'ndjson';

import type { EventCaller } from '../caller.ts';
import type { IncludeSet } from '../include.ts';
import type { Narrowing } from '../narrowing.ts';
import type { ClientOffset } from '../offset.ts';

/** A client's request for a stream of events: where to begin, and which events to include. */
export interface StreamRequest {
  /**
   * The offset to continue from. If absent, the stream begins now, and a client that is too slow loses the oldest
   * events.
   */
  readonly after: ClientOffset | undefined;
  readonly changes: boolean;
  readonly include: IncludeSet;
  readonly narrowing: Narrowing;
  readonly caller: EventCaller;
}

/** The format of a stream: Server-Sent Events, or one JSON text per line (decision Q1). */
export type StreamForm = 'sse' | 'ndjson';

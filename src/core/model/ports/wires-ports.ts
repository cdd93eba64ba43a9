import type { Caller } from '../caller.ts';
import type { LogEntry } from '../event.ts';

/**
 * Serialises an event for webhooks of another program's protocol; undefined for an event that the protocol does not
 * know, or that is not one of `wanted`, the events that the program asked for.
 */
export type WireEventJson = (entry: LogEntry, caller: Caller, wanted: readonly string[]) => Promise<string | undefined>;

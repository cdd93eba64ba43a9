import type { LogEntry, RowEntry } from '../../../domain/event.ts';

/** No client of MCP asks for changes. */
export function isOfRow(entry: LogEntry): entry is RowEntry {
  return entry.change === undefined;
}

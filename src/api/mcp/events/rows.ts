import type { LogEntry, RowEntry } from '../../../domain/event.ts';

/** Reports whether an entry is a new row. Clients of MCP cannot ask for changes. */
export function isOfRow(entry: LogEntry): entry is RowEntry {
  return entry.change === undefined;
}

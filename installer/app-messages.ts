import type { AssociatedRows } from '../src/core/model/associated-rows.ts';

/** How many of the newest rows have each `associated_message_type`. */
interface NewestRows {
  readonly data_shapes?: { readonly associated_types: Readonly<Record<string, number>> | null } | null | undefined;
}

/** The values of `associated_message_type` that mark messages of apps (decision U5). */
const MESSAGES_OF_APPS = ['2', '3'] as const;

/**
 * Returns two sentences about app messages that are shown as reactions. The first sentence says how many of the newest
 * rows are app messages, and the second says how to show them as messages. Returns undefined if no row is an app
 * message, or if `shown` is `by_kind`.
 */
export function appMessages(
  { data_shapes: shapes }: NewestRows,
  shown: AssociatedRows,
  configFile: string,
): readonly [found: string, toShow: string] | undefined {
  const count = MESSAGES_OF_APPS.reduce((sum, type) => sum + (shapes?.associated_types?.[type] ?? 0), 0);
  if (shown === 'by_kind' || count === 0) return undefined;
  const rows =
    count === 1 ? 'One of the newest rows is a message of an app' : `${count} of the newest rows are messages of apps`;
  return [
    `${rows} (games, Check In, Apple Cash), shown as ${count === 1 ? 'a reaction' : 'reactions'}.`,
    `To show such rows as messages, set associated_rows = "by_kind" under [backend] in ${configFile}, then restart Postern.`,
  ];
}

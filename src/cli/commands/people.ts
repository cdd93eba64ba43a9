import type { Person } from '../../domain/ports/people.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json } from '../output/text.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';

export interface PeopleOptions extends ConnectionOptions {
  readonly limit?: number;
}

const COLUMNS: readonly Column[] = [
  { title: 'ID', style: () => 'dim' },
  { title: 'NAME', isFlexible: true, least: 12 },
  { title: 'ADDRESSES', isFlexible: true, least: 20 },
  { title: 'SHARED WITH OTHERS', isFlexible: true },
];
/** The most that the service lists. */
const MOST = 200;

/** `postern people`: lists everybody with a conversation, one row per person across all addresses. */
export function people(
  words: readonly string[],
  { limit = 50, ...options }: PeopleOptions,
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const found = await client.people.list({ q: words.join(' '), limit: Math.min(limit, MOST) });
    if (options.json === true) context.stdout(json(found, 2));
    else sayTable(context, COLUMNS, found.map(rowOf), 'There is nobody like that.');
    return EXIT.ok;
  });
}

function rowOf({ id, name, addresses, ambiguous = [] }: Person): readonly string[] {
  const shared = ambiguous.map(({ address, names }) => `${address} (${names.join(', ')})`);
  return [id, name ?? '', addresses.join(', '), shared.join(', ')];
}

import type { Person } from '../../client/people-types.ts';
import type { Column } from '../../core/cli/output/table.ts';
import type { Served } from '../../core/cli/service-connection.ts';

const COLUMNS: readonly Column[] = [
  { title: 'ID', style: () => 'dim' },
  { title: 'NAME', isFlexible: true, least: 12 },
  { title: 'ADDRESSES', isFlexible: true, least: 20 },
  { title: 'SHARED WITH OTHERS', isFlexible: true },
];
/** The maximum number of people that the service lists. */
const MOST = 200;

/** `postern people`: lists everyone with a conversation, one row per person with all addresses. */
export async function people(
  words: readonly string[],
  { limit = 50 }: { readonly limit?: number },
  { client, list }: Served,
): Promise<void> {
  const found = await client.people.list({ q: words.join(' '), limit: Math.min(limit, MOST) });
  list(found, COLUMNS, found.map(rowOf), 'Nobody matches.');
}

function rowOf({ id, name, addresses, ambiguous = [] }: Person): readonly string[] {
  const shared = ambiguous.map(({ address, names }) => `${address} (${names.join(', ')})`);
  return [id, name ?? '', addresses.join(', '), shared.join(', ')];
}

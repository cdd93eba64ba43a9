import { join } from 'node:path';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import { PEOPLE_FILE } from './archive-layout.ts';
import { readWhole, writeWhole } from './private-files.ts';

/**
 * Adds the current names of these addresses to people.json, and returns all names in it. A name that Contacts no longer
 * has stays in the file.
 */
export function archivedPeople(folder: string, addresses: readonly string[], now: NameLookup): NameLookup {
  const path = join(folder, PEOPLE_FILE);
  const before = readWhole(path);
  const names = new Map(namesIn(before));
  for (const address of addresses) {
    const name = now.nameOf(address);
    if (name !== undefined) names.set(address, name);
  }
  const sorted = [...names].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = `${JSON.stringify(Object.fromEntries(sorted), null, 1)}\n`;
  if (text !== before) writeWhole(path, text);
  return { nameOf: (address) => names.get(address) };
}

/** Returns the pairs of address and name in the text of people.json. Returns none if the text is not a JSON object. */
function namesIn(text = '{}'): readonly (readonly [string, string])[] {
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document !== 'object' || document === null) return [];
    return Object.entries(document).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  } catch {
    return [];
  }
}

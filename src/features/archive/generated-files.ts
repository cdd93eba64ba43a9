import { join } from 'node:path';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import { INDEX, PEOPLE_FILE } from './archive-layout.ts';
import { type Manifest, sealOf, writeManifest } from './manifest.ts';
import { makePages, type PagesParts } from './pages.ts';
import { readWhole, sha256Of, writeWhole } from './private-files.ts';

export interface GeneratedParts extends Omit<PagesParts, 'known'> {
  /** The manifest of the last complete run, and the one of this run. */
  readonly before: Manifest | undefined;
  readonly sealed: Manifest;
  readonly addresses: readonly string[];
  readonly names: NameLookup;
  /** False to make no pages. Those of earlier runs stay. */
  readonly html: boolean;
}

/**
 * Makes people.json and the pages. Then records their hashes and that of the index in the manifest, so that a
 * verification notices a change in them. Returns the seal.
 */
export async function makeGenerated(parts: GeneratedParts): Promise<string> {
  const { folder, index, before, sealed, html, addresses } = parts;
  const known = before?.generated ?? new Map<string, string>();
  const names = archivedPeople(folder, addresses, parts.names);
  const pages = html
    ? await makePages({ ...parts, names, known })
    : new Map([...known].filter(([path]) => path.endsWith('.html')));
  index.commit();
  // An interrupted run has sealed its lines, and the next run makes the rest.
  if (pages === undefined) return sealOf(sealed);
  const others = [PEOPLE_FILE, INDEX].map((path) => [path, sha256Of(folder, path)] as const);
  const manifest = { ...sealed, generated: new Map([...pages, ...others]) };
  writeManifest(folder, manifest);
  return sealOf(manifest);
}

/**
 * Adds the current names of these addresses to people.json, and returns all names in it. A name that Contacts no longer
 * has stays in the file.
 */
function archivedPeople(folder: string, addresses: readonly string[], now: NameLookup): NameLookup {
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

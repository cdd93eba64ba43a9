import { readFile } from 'node:fs/promises';

/** The guide that docs/site builds from docs/, in one file. Only the built project has it. */
const GUIDE = new URL('../../../../guide.pack', import.meta.url);
const GUIDE_FILE = /^(?:recipes\/|img\/|project\/)?[A-Za-z0-9-]+\.[a-z]+$/;
/** A page of the guide as people type it, without a file extension. */
export const GUIDE_NAME = /^\/guide\/(?:recipes\/|project\/)?([A-Za-z0-9-]+)$/;

/** The map of the guide, at the address where programs look for it (llmstxt.org). */
export const FOR_MODELS = { '/llms.txt': 'llms-root.txt', '/llms-full.txt': 'llms-full.txt' };

/** Returns undefined for invalid page names, so that no path leads out of the folder. */
export function guideFile(path: string): string | undefined {
  const file = path === '/guide/' ? 'index.html' : path.slice('/guide/'.length);
  return path.startsWith('/guide/') && GUIDE_FILE.test(file) ? file : undefined;
}

/**
 * Reads one file of the guide. In the pack, a line of JSON with the place and size of each file precedes their bytes.
 */
export async function guideContent(file: string): Promise<Buffer | undefined> {
  const pack = await readFile(GUIDE).catch(() => undefined);
  if (pack === undefined) return undefined;
  const start = pack.indexOf('\n') + 1;
  const places = JSON.parse(pack.toString('utf8', 0, start)) as Record<string, readonly [number, number]>;
  const [offset, length] = (Object.hasOwn(places, file) ? places[file] : undefined) ?? [];
  if (offset === undefined || length === undefined) return undefined;
  // A copy, so that the whole pack does not stay in memory.
  return Buffer.from(pack.subarray(start + offset, start + offset + length));
}

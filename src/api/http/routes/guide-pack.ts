import { readFile } from 'node:fs/promises';

/** The guide that docs/site makes of docs/, in one file. Only the built project has it. */
const GUIDE = new URL('../../../../guide.pack', import.meta.url);
const GUIDE_FILE = /^(?:recipes\/|img\/|project\/)?[A-Za-z0-9-]+\.[a-z]+$/;
/** A page of the guide as a person types it, without its ending. */
export const GUIDE_NAME = /^\/guide\/(?:recipes\/|project\/)?([A-Za-z0-9-]+)$/;

/** The map of the guide where programs look for it (llmstxt.org). */
export const FOR_MODELS = { '/llms.txt': 'llms-root.txt', '/llms-full.txt': 'llms-full.txt' };

/** Returns undefined for invalid page names, so that no path leads out of the folder. */
export function guideFile(path: string): string | undefined {
  const file = path === '/guide/' ? 'index.html' : path.slice('/guide/'.length);
  return path.startsWith('/guide/') && GUIDE_FILE.test(file) ? file : undefined;
}

/** Reads one file of the guide: after a line of JSON with place and size of each come their bytes. */
export async function guideContent(file: string): Promise<Buffer | undefined> {
  const pack = await readFile(GUIDE).catch(() => undefined);
  if (pack === undefined) return undefined;
  const start = pack.indexOf('\n') + 1;
  const places = JSON.parse(pack.toString('utf8', 0, start)) as Record<string, readonly [number, number]>;
  const [offset, length] = (Object.hasOwn(places, file) ? places[file] : undefined) ?? [];
  if (offset === undefined || length === undefined) return undefined;
  // A copy, so that not the whole pack stays in memory.
  return Buffer.from(pack.subarray(start + offset, start + offset + length));
}

import { readFile } from 'node:fs/promises';

/** The guide that docs/site builds from docs/, in one file. Only the built project has it. */
const GUIDE = new URL('../../../guide.pack', import.meta.url);
const GUIDE_FILE = /^(?:recipes\/|img\/|project\/)?[A-Za-z0-9-]+\.[a-z]+$/;
/** Matches the path of a page without its file extension, as people type it. */
export const GUIDE_NAME = /^\/guide\/(?:recipes\/|project\/)?([A-Za-z0-9-]+)$/;

/** Files of the guide for language models, by the paths that llmstxt.org proposes. */
export const FOR_MODELS = { '/llms.txt': 'llms-root.txt', '/llms-full.txt': 'llms-full.txt' };

/** Returns the name of the guide's file at a path. Returns undefined for any other path. */
export function guideFile(path: string): string | undefined {
  const file = path === '/guide/' ? 'index.html' : path.slice('/guide/'.length);
  return path.startsWith('/guide/') && GUIDE_FILE.test(file) ? file : undefined;
}

/**
 * Reads one file of the guide. Returns undefined if the file does not exist. The first line of the pack is JSON with
 * two numbers for each file: its offset from the end of that line, and its length.
 */
export async function guideContent(file: string): Promise<Buffer | undefined> {
  const pack = await readFile(GUIDE).catch(() => undefined);
  if (pack === undefined) return undefined;
  const start = pack.indexOf('\n') + 1;
  const positions = JSON.parse(pack.toString('utf8', 0, start)) as Record<string, readonly [number, number]>;
  const [offset, length] = (Object.hasOwn(positions, file) ? positions[file] : undefined) ?? [];
  if (offset === undefined || length === undefined) return undefined;
  // Copies the bytes, so that the whole pack does not stay in memory.
  return Buffer.from(pack.subarray(start + offset, start + offset + length));
}

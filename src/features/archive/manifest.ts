import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../core/model/errors.ts';
import { damaged } from './archive-errors.ts';
import { chainOf, LOG, MANIFEST } from './archive-layout.ts';
import { type Head, NO_LINES } from './chain.ts';
import { Draft, readWhole } from './private-files.ts';

export const FORMAT = 'postern-archive';
const VERSION = 1;

/** The content of manifest.json: the end of each file after the last complete run. */
export interface Manifest {
  readonly created_at: string;
  /** Number of complete runs. */
  readonly runs: number;
  /** The name of the last run's Mac. `made_by` is the version of Postern that wrote the manifest. */
  readonly mac: string;
  readonly made_by: string;
  /** Identifies the chat.db of the last run. */
  readonly database: string;
  /**
   * The run that has begun but not finished. Until it finishes, a file may have lines after the end that `files`
   * records.
   */
  readonly unfinished?: { readonly run: number; readonly started_at: string } | undefined;
  /** Numbers of rows that the last complete run could not read, because chat.db is damaged. Key: the table. */
  readonly unreadable?: Readonly<Record<string, number>> | undefined;
  /** The ends of the NDJSON files. Key: the file's path in the archive. */
  readonly files: ReadonlyMap<string, Head>;
}

/**
 * Returns the archive's seal: one hash over the ends of all NDJSON files. A user who keeps the seal can prove later
 * that nothing in the archive was changed.
 */
export function sealOf(files: ReadonlyMap<string, Head>): string {
  const sum = createHash('sha256');
  for (const path of [...files.keys()].sort()) {
    const { lines, hash } = files.get(path) ?? NO_LINES;
    sum.update(`${path} ${lines} ${hash}\n`);
  }
  return sum.digest('hex');
}

export function writeManifest(folder: string, manifest: Manifest): void {
  const { files, ...about } = manifest;
  const beginning = JSON.stringify({ format: FORMAT, version: VERSION, ...about, seal: sealOf(files) }, null, 1);
  const draft = new Draft(join(folder, MANIFEST));
  try {
    let waiting = `${beginning.slice(0, -'\n}'.length)},\n "files": {`;
    let separator = '\n';
    // Writes in pieces to save memory: ten years of a thousand conversations are ten thousand files.
    for (const path of [...files.keys()].sort()) {
      waiting += `${separator}  ${JSON.stringify(path)}: ${JSON.stringify(files.get(path))}`;
      separator = ',\n';
      if (waiting.length < CHUNK_CHARACTERS) continue;
      draft.write(waiting);
      waiting = '';
    }
    draft.write(`${waiting}\n }\n}\n`);
    draft.keep();
  } finally {
    draft.discard();
  }
}

const CHUNK_CHARACTERS = 1 << 16;

/**
 * Reads manifest.json. Returns undefined if the file is missing. Throws `archive_damaged` if it is not a valid
 * manifest, or if a newer version of Postern wrote it.
 */
export function readManifest(folder: string): Manifest | undefined {
  const text = readWhole(join(folder, MANIFEST));
  if (text === undefined) return undefined;
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw damaged(`${join(folder, MANIFEST)} is not JSON.`, error);
  }
  if (isObject(document) && document.format === FORMAT && Number(document.version) > VERSION) {
    throw new AppError('archive_damaged', `${folder} was written by a newer version of Postern.`, {
      hint: 'Nothing was written. Update Postern, or export into another folder.',
    });
  }
  const manifest = manifestOf(document);
  if (manifest === undefined) throw damaged(`${join(folder, MANIFEST)} is not a manifest of an archive.`);
  return manifest;
}

function manifestOf(document: unknown): Manifest | undefined {
  if (!isObject(document) || document.format !== FORMAT || document.version !== VERSION) return undefined;
  const { created_at, runs, mac, made_by, database, unfinished, files, seal } = document;
  if (!isObject(files) || typeof runs !== 'number') return undefined;
  const heads = new Map<string, Head>();
  for (const [path, head] of Object.entries(files)) {
    if (!isHead(head) || (path !== LOG && chainOf(path) === undefined)) return undefined;
    heads.set(path, head);
  }
  if (seal !== sealOf(heads)) return undefined;
  return {
    created_at: String(created_at),
    runs,
    mac: String(mac),
    made_by: String(made_by),
    database: String(database),
    files: heads,
    ...(isObject(unfinished) && {
      unfinished: { run: Number(unfinished.run), started_at: String(unfinished.started_at) },
    }),
  };
}

function isHead(value: unknown): value is Head {
  if (!isObject(value)) return false;
  const { lines, bytes, hash } = value;
  return Number.isSafeInteger(lines) && Number.isSafeInteger(bytes) && /^[0-9a-f]{64}$/.test(String(hash));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

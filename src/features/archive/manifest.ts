import { createHash, hash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../core/model/errors.ts';
import { isRecord } from '../../core/model/record.ts';
import { damaged } from './archive-errors.ts';
import { chainOf, isGenerated, LOG, MANIFEST } from './archive-layout.ts';
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
  /**
   * The SHA-256 of each file that was made from the lines, such as a page. Key: the file's path in the archive. Absent
   * from the beginning of a run until these files have been made.
   */
  readonly generated?: ReadonlyMap<string, string> | undefined;
}

/**
 * Returns the archive's seal: one hash over the ends of all NDJSON files, and over the files made from them. A user who
 * keeps the seal can prove later that nothing in the archive was changed. "" if nothing is sealed yet.
 */
export function sealOf({ files, generated = new Map() }: Pick<Manifest, 'files' | 'generated'>): string {
  if (files.size === 0) return '';
  const sum = createHash('sha256');
  for (const path of [...files.keys()].sort()) {
    const { lines, hash } = files.get(path) ?? NO_LINES;
    sum.update(`${path} ${lines} ${hash}\n`);
  }
  for (const path of [...generated.keys()].sort()) sum.update(`${path} ${generated.get(path)}\n`);
  return sum.digest('hex');
}

export function writeManifest(folder: string, manifest: Manifest): void {
  const { files, generated, ...about } = manifest;
  const seal = sealOf(manifest);
  const beginning = JSON.stringify({ format: FORMAT, version: VERSION, ...about, seal }, null, 1);
  const draft = new Draft(join(folder, MANIFEST));
  const sum = createHash('sha256');
  let waiting = '';
  // Writes in pieces to save memory: ten years of a thousand conversations are ten thousand files.
  const add = (text: string, least = CHUNK_CHARACTERS): void => {
    waiting += text;
    if (waiting.length < least) return;
    sum.update(waiting);
    draft.write(waiting);
    waiting = '';
  };
  const addMap = (name: string, map: ReadonlyMap<string, unknown>): void => {
    add(`,\n "${name}": {`);
    let separator = '\n';
    for (const path of [...map.keys()].sort()) {
      add(`${separator}  ${JSON.stringify(path)}: ${JSON.stringify(map.get(path))}`);
      separator = ',\n';
    }
    add('\n }');
  };
  try {
    add(beginning.slice(0, -'\n}'.length));
    addMap('files', files);
    if (generated !== undefined) addMap('generated', generated);
    add('', 0);
    draft.write(`,\n "checksum": "${sum.digest('hex')}"\n}\n`);
    draft.keep();
  } finally {
    draft.discard();
  }
}

/** The last member of a manifest: the SHA-256 of everything before it. */
const CHECKSUM = /,\n "checksum": "([0-9a-f]{64})"\n\}\n$/;
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
  if (isRecord(document) && document.format === FORMAT && Number(document.version) > VERSION) {
    throw new AppError('archive_damaged', `${folder} was written by a newer version of Postern.`, {
      hint: 'Nothing was written. Update Postern, or export into another folder.',
    });
  }
  const manifest = isWhole(text) ? manifestOf(document) : undefined;
  if (manifest === undefined) throw damaged(`${join(folder, MANIFEST)} is not a manifest of an archive.`);
  return manifest;
}

/** Reports whether a manifest still matches its checksum. */
function isWhole(text: string): boolean {
  const found = CHECKSUM.exec(text.slice(-CHECKSUM_CHARACTERS));
  return found !== null && hash('sha256', text.slice(0, -found[0].length), 'hex') === found[1];
}

/** More characters than the member `checksum` has. */
const CHECKSUM_CHARACTERS = 200;

function manifestOf(document: unknown): Manifest | undefined {
  if (!isRecord(document) || document.format !== FORMAT || document.version !== VERSION) return undefined;
  const { created_at, runs, mac, made_by, database, unfinished, files, generated, seal, unreadable } = document;
  if (!isRecord(files) || typeof runs !== 'number') return undefined;
  const heads = new Map<string, Head>();
  for (const [path, head] of Object.entries(files)) {
    if (!isHead(head) || (path !== LOG && chainOf(path) === undefined)) return undefined;
    heads.set(path, head);
  }
  const hashes = generated === undefined ? undefined : hashesOf(generated);
  if (generated !== undefined && hashes === undefined) return undefined;
  if (seal !== sealOf({ files: heads, generated: hashes })) return undefined;
  return {
    created_at: String(created_at),
    runs,
    mac: String(mac),
    made_by: String(made_by),
    database: String(database),
    files: heads,
    ...(hashes !== undefined && { generated: hashes }),
    ...(isRecord(unreadable) && { unreadable: unreadable as Readonly<Record<string, number>> }),
    ...(isRecord(unfinished) && {
      unfinished: { run: Number(unfinished.run), started_at: String(unfinished.started_at) },
    }),
  };
}

/** Returns the hashes of generated files; undefined unless each is a hash of a file that a run makes. */
function hashesOf(value: unknown): ReadonlyMap<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).map(([path, sum]) => [path, String(sum)] as const);
  return entries.every(([path, sum]) => isGenerated(path) && /^[0-9a-f]{64}$/.test(sum)) ? new Map(entries) : undefined;
}

function isHead(value: unknown): value is Head {
  if (!isRecord(value)) return false;
  const { lines, bytes, hash } = value;
  return Number.isSafeInteger(lines) && Number.isSafeInteger(bytes) && /^[0-9a-f]{64}$/.test(String(hash));
}

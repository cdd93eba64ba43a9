import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AttachmentFiles } from '../../src/core/chatdb/attachment-files.ts';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { ArchiveSource } from '../../src/features/archive/archive-source.ts';
import type { ArchivedLine } from '../../src/features/archive/archived-line.ts';
import { ArchiveComparison, type Comparison } from '../../src/features/archive/compare.ts';
import { type ExportParts, exportArchive } from '../../src/features/archive/export.ts';
import type { ExportReport } from '../../src/features/archive/export-report.ts';
import { type VerifyReport, verifyArchive } from '../../src/features/archive/verify.ts';
import { DECODERS } from '../../src/features/rows.ts';
import { collectingLog } from './log.ts';

const NEVER = new AbortController().signal;

/** Runs one export of a chat.db into `folder`, as the command does. */
export async function archived(
  chatDb: string,
  folder: string,
  options: Partial<ExportParts> = {},
): Promise<ExportReport> {
  const connection = new Connection({ path: chatDb, home: '/home/nobody', log: collectingLog(), decoders: DECODERS });
  try {
    return await exportArchive({
      folder,
      source: new ArchiveSource(connection),
      attachments: 'copy',
      files: new AttachmentFiles(connection),
      conversations: undefined,
      sinceMs: undefined,
      untilMs: undefined,
      names: { nameOf: () => undefined },
      html: false,
      timeZone: 'UTC',
      clock: systemClock,
      version: '0.0.0',
      mac: 'a-mac',
      signal: NEVER,
      onProgress: () => {},
      ...options,
    });
  } finally {
    connection.close();
  }
}

export function verified(folder: string): Promise<VerifyReport> {
  return verifyArchive({ folder, signal: NEVER, onProgress: () => {} });
}

/** Compares an archive with a chat.db, as the command does. */
export async function compared(chatDb: string, folder: string): Promise<Comparison> {
  const connection = new Connection({ path: chatDb, home: '/home/nobody', log: collectingLog(), decoders: DECODERS });
  const comparison = new ArchiveComparison();
  try {
    await verifyArchive({ folder, signal: NEVER, onProgress: () => {}, onLine: (line) => comparison.add(line) });
    const source = new ArchiveSource(connection);
    return await comparison.with({ source, signal: NEVER, onProgress: () => {} });
  } finally {
    comparison.close();
    connection.close();
  }
}

/** Returns the paths of the NDJSON files, relative to the archive. */
export function chainsOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /messages-\d{4}\.ndjson$/.test(path))
    .sort();
}

/** Returns every line of every file. */
export function linesOf(folder: string): readonly ArchivedLine[] {
  return chainsOf(folder).flatMap((path) =>
    readFileSync(join(folder, path), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ArchivedLine),
  );
}

/** Returns the bodies of the messages that no later line replaces. */
export function bodiesOf(folder: string): readonly string[] {
  return chainsOf(folder).flatMap((path) => {
    const standing = new Map<number, string>();
    for (const line of readFileSync(join(folder, path), 'utf8').trimEnd().split('\n')) {
      const { n, replaces, message } = JSON.parse(line) as ArchivedLine;
      if (replaces !== undefined) standing.delete(replaces);
      if (message !== undefined) standing.set(n, message.body);
    }
    return [...standing.values()];
  });
}

/** Lists everything in a folder with its mode, size and modification time. */
export function everythingIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path) => {
      const { mode, size, mtimeMs } = statSync(join(folder, path));
      return `${path} ${mode.toString(8)} ${size} ${mtimeMs}`;
    });
}

import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import type { AttachmentReader } from '../../core/model/ports/reading-ports.ts';
import { type OpenArchive, openArchive } from './archive.ts';
import { explained } from './archive-errors.ts';
import { conversationKey, LOG } from './archive-layout.ts';
import type { ArchiveSource, SourceRow } from './archive-source.ts';
import { rowKey } from './archived-line.ts';
import { appendLine, ChainFiles } from './chain-files.ts';
import { type ExportProgress, type ExportReport, emptyReport } from './export-report.ts';
import { makeGenerated } from './generated-files.ts';
import { restoreLostFiles } from './lost-files.ts';
import { type Manifest, writeManifest } from './manifest.ts';
import { RowWriter } from './row-writer.ts';
import { type AttachmentMode, StoredFiles } from './stored-files.ts';

export interface ExportParts {
  readonly folder: string;
  readonly source: ArchiveSource;
  readonly attachments: AttachmentMode;
  readonly files: AttachmentReader;
  /** Guids of conversations; undefined for all. */
  readonly conversations: ReadonlySet<string> | undefined;
  /**
   * Archives only rows dated from `sinceMs` on and before `untilMs`. Milliseconds since 1970; undefined for no limit.
   */
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly names: NameLookup;
  /** True to make HTML pages of the conversations. */
  readonly html: boolean;
  /** The time zone in which pages show times. */
  readonly timeZone: string;
  readonly clock: Clock;
  readonly version: string;
  /** This Mac's name. */
  readonly mac: string;
  /** When aborted, ends the run after the rows that it is comparing. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ExportProgress) => void;
}

/** Rows read at once: few, so that the heap stays small. */
const PAGE_ROWS = 100;
/** Number of rows after which the index is committed. */
const COMMIT_ROWS = 30_000;
const REMOVALS_AT_ONCE = 1000;

/**
 * Extends an archive by everything that is new or has changed in chat.db. Throws AppError on failure; what was written
 * so far stays.
 */
export async function exportArchive(parts: ExportParts): Promise<ExportReport> {
  try {
    const archive = openArchive(parts.folder);
    const files = new ChainFiles(archive.folder, archive.index);
    try {
      return await new Run(parts, archive, files).run();
    } finally {
      archive.close();
    }
  } catch (error) {
    throw explained(error, parts.folder);
  }
}

class Run {
  readonly #parts: ExportParts;
  readonly #archive: OpenArchive;
  readonly #files: ChainFiles;
  readonly #report: ExportReport;
  readonly #manifest: Manifest;
  readonly #stored: StoredFiles;
  readonly #writer: RowWriter;
  readonly #database: number;
  readonly #run: number;
  #sinceCommit = 0;
  /** The time at which the current rows were read. */
  #now: string;
  /** Number of rows that this run has seen and that are in the archive. */
  #live = 0;

  constructor(parts: ExportParts, archive: OpenArchive, files: ChainFiles) {
    const { source, clock, version, mac, attachments, folder } = parts;
    const before = archive.manifest;
    this.#parts = parts;
    this.#archive = archive;
    this.#files = files;
    this.#report = emptyReport();
    this.#run = (before?.unfinished?.run ?? before?.runs ?? 0) + 1;
    const startedAt = isoSecond(clock.now());
    const databaseId = source.databaseId;
    this.#now = startedAt;
    this.#manifest = {
      created_at: before?.created_at ?? startedAt,
      runs: before?.runs ?? 0,
      mac,
      made_by: `postern ${version}`,
      database: databaseId,
      unfinished: { run: this.#run, started_at: startedAt },
      files: before?.files ?? new Map(),
    };
    this.#database = archive.index.database(databaseId);
    if (before !== undefined && before.database !== databaseId) {
      this.#report.warnings.push(
        'chat.db has been replaced since the last run, so messages were matched by their GUIDs.',
      );
    }
    this.#stored = new StoredFiles({
      folder,
      mode: attachments,
      files: parts.files,
      onStored: (bytes) => {
        this.#report.files += 1;
        this.#report.fileBytes += bytes;
      },
      onNotConverted: () => {
        this.#report.notConverted += 1;
      },
    });
    this.#writer = new RowWriter({
      folder,
      index: archive.index,
      files,
      source,
      stored: this.#stored,
      wantsFiles: attachments !== 'none',
      report: this.#report,
      run: this.#run,
      database: this.#database,
      seenAt: () => this.#now,
    });
  }

  async run(): Promise<ExportReport> {
    const { source, folder, signal, conversations, attachments } = this.#parts;
    const report = this.#report;
    writeManifest(folder, this.#manifest);
    // Leaves rows that arrive during this run to the next run. So every reaction in this run is already in chat.db when
    // the run reads the reaction's message, and the message's details include the reaction.
    const upTo = source.highestRowId();
    const totalRows = source.count();
    await this.#walk(upTo, totalRows);
    if (!signal.aborted) await this.#removals(conversations && new Set([...conversations].map(conversationKey)));
    const restoring = { folder, source, signal, index: this.#archive.index, stored: this.#stored };
    if (attachments !== 'none') report.warnings.push(...(await restoreLostFiles(restoring)));
    await this.#files.sync();
    this.#archive.index.commit();
    this.#noteUnreadable();
    report.isInterrupted = signal.aborted;
    if (report.isInterrupted) return report;
    await this.#makeGenerated(this.#seal());
    report.isInterrupted = signal.aborted;
    return report;
  }

  #noteUnreadable(): void {
    const { rows, sentence } = this.#parts.source.unreadable();
    this.#report.unreadable = rows;
    if (sentence === undefined) return;
    this.#report.warnings.push(`${sentence} The archive has everything else. To learn what to do: postern doctor`);
  }

  async #walk(upTo: number, totalRows: number): Promise<void> {
    const { source, signal, onProgress, conversations, clock } = this.#parts;
    const chats = conversations && source.chatRowIds([...conversations]);
    for (let after = 0; !signal.aborted; ) {
      const rows = source.rows(after, upTo, PAGE_ROWS);
      const last = rows.at(-1);
      if (last === undefined) return;
      this.#now = isoSecond(clock.now());
      this.#live += await this.#writer.page(rows.filter((row) => this.#isWanted(row, chats)));
      this.#report.rows += rows.length;
      this.#commitIfDue(rows.length);
      onProgress({ step: 'rows', done: this.#report.rows, total: totalRows });
      after = last.rowId;
      await nextTurn();
    }
  }

  #isWanted({ datedMs, chat }: SourceRow, chats: ReadonlySet<number> | undefined): boolean {
    if (chats !== undefined && (chat === undefined || !chats.has(chat))) return false;
    const { sinceMs = Number.NEGATIVE_INFINITY, untilMs = Number.POSITIVE_INFINITY } = this.#parts;
    return datedMs >= sinceMs && datedMs < untilMs;
  }

  /**
   * Commits the index after every `COMMIT_ROWS` rows. Writes the lines first: the index can be completed from the
   * files, but the files cannot be completed from the index.
   */
  #commitIfDue(rows: number): void {
    this.#sinceCommit += rows;
    if (this.#sinceCommit < COMMIT_ROWS) return;
    this.#sinceCommit = 0;
    this.#files.flush();
    this.#archive.index.commit();
  }

  /** Writes a line for each row that was in this chat.db at an earlier run and is gone now. */
  async #removals(keys: ReadonlySet<string> | undefined): Promise<void> {
    const { source, signal, sinceMs, untilMs } = this.#parts;
    const { index } = this.#archive;
    const isWhole = keys === undefined && sinceMs === undefined && untilMs === undefined;
    if (isWhole) this.#report.elsewhere = index.countElsewhere(this.#database);
    if (isWhole && index.countLive(this.#database) === this.#live) return;
    for (let after = ''; !signal.aborted; ) {
      const entries = index.liveAfter(after, this.#database, this.#run, REMOVALS_AT_ONCE);
      const last = entries.at(-1);
      if (last === undefined) break;
      const listed = source.listed(entries.map(({ guid }) => guid));
      const missing = entries.filter(({ guid }) => !listed.has(guid) && !guid.startsWith(rowKey('', '')));
      const unreadable = source.withUnreadableRow(missing.map(({ guid }) => guid));
      await this.#writer.removed(
        missing.filter(({ guid }) => !unreadable.has(guid)),
        keys,
      );
      after = last.guid;
      this.#commitIfDue(entries.length);
      await nextTurn();
    }
  }

  /** Makes the files that are made from lines and from Contacts, and seals them too. */
  async #makeGenerated(sealed: Manifest): Promise<void> {
    const { source, clock, onProgress } = this.#parts;
    const { index, manifest: before } = this.#archive;
    this.#report.seal = await makeGenerated({
      ...this.#parts,
      ...{ index, before, sealed, addresses: source.addresses(), notes: source.notes() },
      at: this.#manifest.unfinished?.started_at ?? '',
      nowMs: clock.now(),
      onPage: (done, total) => onProgress({ step: 'pages', done, total }),
    });
  }

  /** Writes the run's line in the log, then the manifest, which records the end of every file and is returned. */
  #seal(): Manifest {
    const { folder, clock, attachments, sinceMs, untilMs, conversations } = this.#parts;
    const { warnings, isInterrupted: _, seal: _seal, ...counts } = this.#report;
    const { unfinished, generated: _generated, ...manifest } = this.#manifest;
    const started = unfinished?.started_at ?? '';
    const members = {
      run: this.#run,
      started_at: started,
      ended_at: isoSecond(clock.now()),
      made_by: manifest.made_by,
      attachments,
      ...(conversations !== undefined && { conversations: conversations.size }),
      ...(sinceMs !== undefined && { since: isoSecond(sinceMs) }),
      ...(untilMs !== undefined && { until: isoSecond(untilMs) }),
      ...counts,
      warnings,
    };
    const log = appendLine(join(folder, LOG), this.#archive.log, JSON.stringify(members).slice(1, -1));
    const files = new Map(Array.from(this.#archive.index.files(), ({ path, head }) => [path, head]));
    files.set(LOG, log);
    const sealed = { ...manifest, unreadable: this.#report.unreadable, runs: manifest.runs + 1, files };
    writeManifest(folder, sealed);
    return sealed;
  }
}

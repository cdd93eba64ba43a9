import { join } from 'node:path';
import type { Message } from '../../core/model/message.ts';
import type { Reaction } from '../../core/model/reaction.ts';
import { type ArchiveIndex, type Entry, REMOVED } from './archive-index.ts';
import { chainOf, chainPath, conversationKey } from './archive-layout.ts';
import type { ArchiveSource, SourceChat, SourceEntry, SourceRow } from './archive-source.ts';
import {
  type ArchivedConversation,
  type ArchivedFile,
  type ArchivedLine,
  comparable,
  countMissing,
  isStored,
  rowKey,
  secondsOf,
} from './archived-line.ts';
import { LineReader } from './chain.ts';
import type { ChainFiles } from './chain-files.ts';
import type { ExportReport } from './export-report.ts';
import type { StoredFiles } from './stored-files.ts';

export interface RowWriterParts {
  readonly folder: string;
  readonly index: ArchiveIndex;
  readonly files: ChainFiles;
  readonly source: ArchiveSource;
  readonly stored: StoredFiles;
  /** True to retry the attachments that earlier runs did not store. */
  readonly wantsFiles: boolean;
  readonly report: ExportReport;
  readonly run: number;
  readonly database: number;
  readonly seenAt: () => string;
}

const NONE: ReadonlyMap<string, Entry> = new Map();

/** Writes a line for each row of chat.db that is new to the archive or differs from the row's last line there. */
export class RowWriter {
  readonly #parts: RowWriterParts;
  /** The NDJSON files. Key: `ChainRecord.id`. Value: the file's path. */
  readonly #paths = new Map<number, string>();
  /** Guids of the conversations whose descriptions were compared in this run. */
  readonly #described = new Set<string>();
  /** True if the archive was empty before this run. */
  readonly #isFirst: boolean;

  constructor(parts: RowWriterParts) {
    this.#parts = parts;
    this.#isFirst = parts.index.isEmpty;
  }

  /** Writes a line for each row that is new or differs. Returns how many of these rows the archive then contains. */
  async page(rows: readonly SourceRow[]): Promise<number> {
    const { index, source, database } = this.#parts;
    const known = this.#known(rows.map(({ guid, rowId }) => rowKey(guid, rowId)));
    const differing: SourceRow[] = [];
    let live = 0;
    for (const row of rows) {
      const entry = known.get(rowKey(row.guid, row.rowId));
      if (entry === undefined || entry.print !== row.print || this.#isIncomplete(entry)) {
        differing.push(row);
        continue;
      }
      live += 1;
      if (entry.database !== database) index.put({ ...entry, database });
    }
    const compared = new Set(differing.map(({ guid, rowId }) => rowKey(guid, rowId)));
    const prints = new Map(differing.map((row) => [row.rowId, row.print]));
    for (const entries of source.entries(differing)) {
      await this.#targets(entries, known, compared);
      for (const entry of entries) {
        const key = rowKey(entry.guid, entry.rowId);
        await this.#compare(key, entry, prints.get(entry.rowId) ?? 0, known.get(key));
        live += 1;
      }
    }
    return live;
  }

  /**
   * Writes a line for each of these rows. The line says that the row is gone from chat.db. If `keys` is defined, skips
   * rows of conversations whose key is not in `keys`.
   */
  async removed(entries: readonly Entry[], keys: ReadonlySet<string> | undefined): Promise<void> {
    const { index, files, report, run, seenAt } = this.#parts;
    const keyOf = ({ file }: Entry): string => chainOf(this.#pathOf(file))?.key ?? '';
    const gone = entries.filter((entry) => keys?.has(keyOf(entry)) !== false);
    // Runs first, for the same reason as in `#targets`.
    await this.#again(gone.flatMap((entry) => this.#lineOf(entry).reaction?.message_guid ?? []));
    for (const entry of gone) {
      const members = `"seen_at":"${seenAt()}","replaces":${entry.n},"removed":true,"guid":${JSON.stringify(entry.guid)}`;
      const position = files.append(this.#pathOf(entry.file), keyOf(entry), members);
      index.put({ ...entry, ...position, print: REMOVED, run, earlier: withEarlier(entry) });
      report.removed += 1;
    }
  }

  /** Returns the index entries of these rows. Key: `rowKey`. Empty in a first run, which meets each row only once. */
  #known(guids: readonly string[]): ReadonlyMap<string, Entry> {
    return this.#isFirst ? NONE : this.#parts.index.entries(guids);
  }

  #isIncomplete(entry: Entry): boolean {
    return entry.missing > 0 && this.#parts.wantsFiles;
  }

  /**
   * Compares the messages that new reactions refer to, because a reaction does not change its message's row. Skips
   * messages that are compared anyway. Runs before the reactions' lines are written: if the run dies between these two
   * steps, the next run still finds the reactions new and compares their messages.
   */
  async #targets(
    entries: readonly SourceEntry[],
    known: ReadonlyMap<string, Entry>,
    compared: ReadonlySet<string>,
  ): Promise<void> {
    const guids = new Set<string>();
    for (const { guid, rowId, event } of entries) {
      if (!('message_guid' in event.data) || known.has(rowKey(guid, rowId))) continue;
      const { message_guid: target } = event.data;
      if (!compared.has(target)) guids.add(target);
    }
    if (guids.size > 0) await this.#again([...guids]);
  }

  /**
   * Compares these messages again: their rows are unchanged, but their reactions have changed. Their lines are in the
   * files afterwards.
   */
  async #again(guids: readonly string[]): Promise<void> {
    const { source, run, files } = this.#parts;
    const known = this.#known(guids);
    const earlier = guids.filter((guid) => (known.get(guid)?.run ?? run) < run);
    if (earlier.length === 0) return;
    for (const entries of source.entries([...source.listed(earlier).values()])) {
      for (const entry of entries) {
        const before = known.get(entry.guid);
        if (before !== undefined) await this.#compare(entry.guid, entry, before.print, before);
      }
    }
    files.flush();
  }

  async #compare(key: string, { event }: SourceEntry, print: number, before: Entry | undefined): Promise<void> {
    const { index, stored, report, run, database } = this.#parts;
    const { data } = event;
    const message = 'message_guid' in data ? undefined : data;
    const old = before === undefined ? undefined : this.#lineOf(before);
    const hasAttachments = (message?.details?.attachments.length ?? 0) > 0;
    const files = message !== undefined && hasAttachments ? await stored.store(message, old) : undefined;
    for (const file of files ?? []) {
      if (!isStored(file)) report.missing[file.missing] = (report.missing[file.missing] ?? 0) + 1;
    }
    const missing = countMissing(files);
    if (before !== undefined && before.print !== REMOVED && old !== undefined && isSame(old, data, files)) {
      index.put({ ...before, print, database, missing });
      return;
    }
    const twinOf = before === undefined ? this.#twinOf(message) : before.twinOf;
    const position = this.#append(data, before, files, twinOf);
    index.put({
      id: before?.id,
      guid: key,
      ...position,
      first: before?.first ?? position.n,
      at: secondsOf(message),
      print,
      run,
      database,
      missing,
      earlier: before === undefined ? '' : withEarlier(before),
      twinOf,
    });
    index.putStored(key, files);
    if (before === undefined) report.added += 1;
    else report.changed += 1;
  }

  /**
   * Looks for a message that an earlier run archived under another guid. Conversation, sender, text, kind, number of
   * attachments and the time to the second must be equal. Returns the number of that message's first line; null if
   * there is no such message.
   */
  #twinOf(message: Message | undefined): number | null {
    const { index, run } = this.#parts;
    // The first run has nothing to compare with.
    if (message === undefined || run === 1) return null;
    const path = chainPath(conversationKey(message.conversation_id), message.timestamp.slice(0, 4));
    const others = index.datedAt(path, secondsOf(message) ?? 0, run, MAX_OF_A_SECOND);
    return others.find((entry) => isTwin(this.#lineOf(entry).message, message))?.first ?? null;
  }

  /** Appends a line. All lines of a row stay in one file, even if the row's date or conversation changes. */
  #append(
    data: Message | Reaction,
    before: Entry | undefined,
    archived: readonly ArchivedFile[] | undefined,
    twinOf: number | null,
  ) {
    const { files, seenAt } = this.#parts;
    const ownKey = conversationKey(data.conversation_id);
    const path = before === undefined ? chainPath(ownKey, data.timestamp.slice(0, 4)) : this.#pathOf(before.file);
    const key = before === undefined ? ownKey : (chainOf(path)?.key ?? '');
    const at = seenAt();
    if (key === ownKey) this.#describe(data.conversation_id, path, key, at);
    const replaces = before === undefined ? '' : `"replaces":${before.n},`;
    const twin = twinOf === null ? '' : `"twin_of":${twinOf},`;
    const kind = 'message_guid' in data ? 'reaction' : 'message';
    const attachments = archived === undefined ? '' : `,"files":${JSON.stringify(archived)}`;
    const row = `"${kind}":${JSON.stringify(data)}${attachments}`;
    return files.append(path, key, `"seen_at":"${at}",${replaces}${twin}${row}`);
  }

  /** Writes a line about the conversation if the file has no line yet, or if the conversation has changed. */
  #describe(guid: string, path: string, key: string, at: string): void {
    const { index, files, source } = this.#parts;
    let isChanged = false;
    if (!this.#described.has(guid)) {
      this.#described.add(guid);
      const before = index.description(key);
      const description = JSON.stringify(describe(guid, source.chat(guid), before));
      isChanged = description !== before;
      if (isChanged) index.describe(key, description);
    }
    if (!isChanged && files.lines(path, key) > 0) return;
    files.append(path, key, `"seen_at":"${at}","conversation":${index.description(key) ?? 'null'}`);
  }

  /**
   * Reads the last line with the row's content. For a removed row, this is the line before the one about its removal.
   */
  #lineOf(entry: Entry): ArchivedLine {
    const start = entry.print === REMOVED ? Number(entry.earlier.split(',').at(-1)) : entry.start;
    const reader = new LineReader(join(this.#parts.folder, this.#pathOf(entry.file)));
    try {
      return JSON.parse(reader.at(start)) as ArchivedLine;
    } finally {
      reader.close();
    }
  }

  #pathOf(file: number): string {
    if (!this.#paths.has(file)) {
      for (const { id, path } of this.#parts.index.files()) this.#paths.set(id, path);
    }
    return this.#paths.get(file) ?? '';
  }
}

function withEarlier({ earlier, start }: Entry): string {
  return earlier === '' ? String(start) : `${earlier},${start}`;
}

/**
 * Describes a conversation. chat.db may have several chats for one conversation, one per service. `ids` collects their
 * guids: those in `before`, the earlier description, and `guid`.
 */
function describe(guid: string, chat: SourceChat | undefined, before: string | undefined): ArchivedConversation {
  const known = before === undefined ? undefined : (JSON.parse(before) as ArchivedConversation);
  const { displayName = null, isGroup = false, participants = [] } = chat ?? {};
  const ids = known?.ids ?? [];
  return {
    ids: guid === '' || ids.includes(guid) ? ids : [...ids, guid],
    display_name: displayName ?? known?.display_name ?? null,
    is_group: isGroup,
    participants: [...new Set([...(isGroup ? [] : (known?.participants ?? [])), ...participants])],
  };
}

/**
 * Reports whether a line still has its row's content. For attachments, compares only how many are stored, because a
 * stored file is never replaced.
 */
function isSame(line: ArchivedLine, data: Message | Reaction, files: readonly ArchivedFile[] | undefined): boolean {
  const before = line.message ?? line.reaction;
  if (before === undefined || comparable(before) !== comparable(data)) return false;
  return countStored(line.files) === countStored(files);
}

/** A new message is compared with at most this many archived messages of the same second. */
const MAX_OF_A_SECOND = 20;

function isTwin(archived: Message | undefined, message: Message): boolean {
  if (archived === undefined) return false;
  const said = ({ sender, is_from_me, body, attachments, details }: Message) =>
    JSON.stringify([sender, is_from_me, body, attachments.length, details?.kind]);
  return said(archived) === said(message);
}

function countStored(files: readonly ArchivedFile[] | undefined): number {
  return files?.filter(isStored).length ?? 0;
}

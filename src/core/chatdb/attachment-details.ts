import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import type { MessagePart, TextRun } from '../model/content.ts';
import { type AttachmentDetails, type AttachmentState, TRANSFER_STATES, type TransferState } from '../model/details.ts';
import { mediaTypeOf } from '../model/media-types.ts';
import type { Row } from '../runtime/sqlite.ts';
import { addedValues } from './added-columns.ts';
import { located } from './attachment-place.ts';
import { ATTACHMENT_COLUMNS, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { RowBudget } from './content/row-budget.ts';
import { contentQueriesOf } from './content-queries.ts';
import type { FileContents } from './decoder.ts';
import type { Snapshot } from './snapshot.ts';
import { storedAttachments } from './stored-attachments.ts';

const ARRIVING: ReadonlySet<TransferState> = new Set(['accepted', 'preparing', 'transferring', 'finalizing']);
/** The first name in `TRANSFER_STATES` stands for this value of `transfer_state`. */
const FIRST_STATE = -1;
/** The name of an attachment for which chat.db has none. */
const NO_NAME = 'attachment';
/** The type of a folder's bytes. */
const TAR = 'application/x-tar';

/** Returns the names of a message's attachments, without decoding anything. */
export function attachmentNames(connection: Connection, rowId: number): readonly string[] {
  return connection.read((snapshot) => attachmentsOf(snapshot, rowId).map(({ name }) => name));
}

/** Returns a message's listed attachments, in the order in which chat.db stores them (decision B5). */
export function attachmentsOf(snapshot: Snapshot, rowId: number): readonly AttachmentDetails[] {
  const { at } = ATTACHMENT_COLUMNS;
  const { path: database } = snapshot.database.parts;
  return storedAttachments(snapshot, rowId).map(({ n, path, row }, index) => {
    const bytes = row[at.bytes];
    const transfer = TRANSFER_STATES[Number(row[at.state] ?? Number.NaN) - FIRST_STATE] ?? null;
    const onDisk = path === null ? '' : basename(path);
    const name = toText(row[at.transferName]) || onDisk || NO_NAME;
    const guid = toText(row[at.guid]);
    const found = located(database, path);
    const isFolder = found?.stats.isDirectory() === true;
    return {
      ...(n !== index && { n }),
      name: isFolder ? `${name}.tar` : name,
      mime_type: isFolder ? TAR : mediaTypeOf(toText(row[at.mediaType]), toText(row[at.uti]), name, onDisk),
      bytes: typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null,
      transfer,
      state: found === undefined ? absentState(transfer) : 'available',
      ...(isFolder && { folder: true as const }),
      path,
      ...(guid !== '' && { guid }),
    };
  });
}

/** Returns the attachment whose number is `wanted`; undefined if the message lists no such attachment. */
export function attachmentAt(snapshot: Snapshot, rowId: number, wanted: number): AttachmentDetails | undefined {
  return attachmentsOf(snapshot, rowId).find(({ n }, index) => (n ?? index) === wanted);
}

/** Returns the state of an attachment without a file that can be read here. */
function absentState(transfer: TransferState | null): AttachmentState {
  if (transfer === 'waiting' || transfer === 'archiving') return 'in_cloud';
  return transfer !== null && ARRIVING.has(transfer) ? 'downloading' : 'missing';
}

/** The attachments of a message with their content. */
interface AttachmentContents {
  readonly attachments: readonly AttachmentDetails[];
  /** Transcripts of the attachments that are voice messages. */
  readonly transcripts: readonly string[];
}

/**
 * Returns a message's attachments with what Postern can decode from them: transcripts, the sizes of pictures, and what
 * features add. `budget` is the row's; it notes the columns that could not be decoded.
 */
export function attachmentContentsOf(
  snapshot: Snapshot,
  rowId: number,
  parts: readonly MessagePart[] = [],
  budget = new RowBudget(),
): AttachmentContents {
  const attachments = attachmentsOf(snapshot, rowId);
  if (attachments.length === 0) return { attachments, transcripts: [] };
  const { database } = snapshot;
  const { attachment: query } = contentQueriesOf(database.schema);
  const runs = new Map(parts.flatMap((part) => part.runs ?? []).map((run) => [run.attachment_guid, run]));
  const transcripts: string[] = [];
  const rows = storedAttachments(snapshot, rowId).map(({ row }) => row[ATTACHMENT_COLUMNS.at.rowId]);
  const detailed = attachments.map((attachment, index) => {
    const row = database.get(query, rows[index] as number);
    if (row === undefined) return attachment;
    const content = snapshot.decoding(rowId, () => attachmentContentOf(snapshot, attachment, row, runs, budget));
    if (content.transcript !== undefined) transcripts.push(content.transcript);
    return { ...attachment, ...content };
  });
  return { attachments: detailed, transcripts };
}

/** Reads the content of one attachment. */
function attachmentContentOf(
  snapshot: Snapshot,
  file: AttachmentDetails,
  row: Row,
  runs: ReadonlyMap<string | undefined, TextRun>,
  budget: RowBudget,
): Partial<AttachmentDetails> {
  const beginning = (most: number): Buffer | undefined =>
    snapshot.isRowLeftOut ? undefined : beginningOf(snapshot, file.path, most);
  const { width, height, transcript: spoken } = runs.get(file.guid) ?? {};
  const known = spoken === undefined ? file : { ...file, transcript: spoken };
  const values = addedValues(snapshot.database.schema.decodedColumns.file, row, (blob) => snapshot.storedBlob(blob));
  let all: FileContents = {};
  for (const { file: decoder } of snapshot.database.decoders) {
    all = { ...all, ...decoder?.read(known, values(decoder.columns), { budget, beginning }) };
  }
  const { transcript = spoken, ...added } = all;
  return {
    ...(transcript !== undefined && { transcript }),
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...added,
  };
}

/**
 * Flags that open a file without following a symbolic link or waiting for a pipe's writer. A link or a pipe may have
 * replaced the file since it was checked.
 */
export const READ_PLAINLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Returns up to `bytes` bytes from the beginning of a file of Messages. Returns undefined for any other file, and for a
 * file that is only in iCloud: it occupies no blocks, and opening it would download it. Also returns undefined if the
 * bytes exceed the limits of this read.
 */
function beginningOf(snapshot: Snapshot, path: string | null, bytes: number): Buffer | undefined {
  let file: number | undefined;
  try {
    const found = located(snapshot.database.parts.path, path);
    if (found === undefined) return undefined;
    const { size, blocks, nlink } = found.stats;
    // The path may be a hard link to chat.db. Opening and closing it here would drop SQLite's locks on chat.db.
    if (!found.stats.isFile() || nlink !== 1 || size === 0 || blocks === 0) return undefined;
    if (!snapshot.mayDecode(Math.min(bytes, size))) return undefined;
    file = openSync(found.path, READ_PLAINLY);
    if (!fstatSync(file).isFile()) return undefined;
    const buffer = Buffer.alloc(Math.min(bytes, size));
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

import type { Row } from '../runtime/sqlite.ts';
import { pathOfStored } from './attachment-place.ts';
import { bodyAttachmentQueriesOf } from './attachment-sql.ts';
import { ATTACHMENT_COLUMNS, toText } from './columns.ts';
import { readAttributedText } from './content/attributed-runs.ts';
import { RunReader } from './content/parts.ts';
import { RowBudget } from './content/row-budget.ts';
import type { Snapshot } from './snapshot.ts';

/** An attachment that a message lists. */
export interface StoredAttachment {
  /** The attachment's number in `GET /messages/{id}/attachments/{n}`. */
  readonly n: number;
  /** Null if chat.db names no file. */
  readonly path: string | null;
  /** The stored row of the attachment, with `ATTACHMENT_COLUMNS`. */
  readonly row: Row;
}

const { at } = ATTACHMENT_COLUMNS;
/** The names of attachments that are the icon of a group or of a business. Nobody sent them. */
const ICONS: ReadonlySet<string> = new Set(['GroupPhotoImage', 'BrandLogoImage']);
/** Maximum number of attachments without a join that are looked up for one message. */
const MAX_UNJOINED = 100;

/** Returns the absolute paths of a message's attachments, in stored order (decision B5). */
export function attachmentPaths(snapshot: Snapshot, rowId: number): readonly string[] {
  return storedAttachments(snapshot, rowId).flatMap(({ path }) => path ?? []);
}

/**
 * Returns the attachments that a message lists, in stored order, then those that only its body names. The files of link
 * previews and of unsent parts, and the icons of conversations, are not listed, but `n` counts them, so that hiding a
 * file changes no other file's number.
 */
export function storedAttachments(snapshot: Snapshot, rowId: number): readonly StoredAttachment[] {
  const { database, queries } = snapshot;
  const rows = database.all(queries.attachments, rowId);
  const left = rows.some((row) => row[at.isPartlyUnsent] === 1) ? attachmentsInBody(snapshot, rowId) : undefined;
  return [...rows, ...unjoinedAttachments(snapshot, rowId, rows)]
    .map((row, n) => ({ n, path: pathOfStored(toText(row[at.filename]), database.folder, database.parts.home), row }))
    .filter(
      ({ path, row }) =>
        !isLinkPreview(path ?? toText(row[at.transferName])) &&
        !ICONS.has(toText(row[at.transferName])) &&
        left?.has(toText(row[at.guid])) !== false,
    );
}

/**
 * Returns the rows of the attachments that a message's body names and that have no join. A body that names an
 * attachment without a row still gives its guid and name.
 */
function unjoinedAttachments({ database }: Snapshot, rowId: number, joined: readonly Row[]): readonly Row[] {
  const queries = bodyAttachmentQueriesOf(database.schema);
  const body = queries && database.get(queries.body, rowId, joined.length)?.[0];
  if (!(body instanceof Uint8Array)) return [];
  const known = new Set(joined.map((row) => row[at.guid]));
  return [...(namedAttachments(body) ?? [])].slice(0, MAX_UNJOINED).flatMap(([guid, name]) => {
    if (guid === '' || known.has(guid)) return [];
    const found = database.get(queries?.attachment ?? '', guid);
    if (found === undefined) {
      return [Object.values(at).map((index) => (index === at.guid ? guid : index === at.transferName ? name : null))];
    }
    return found.at(-1) === 1 ? [] : [found];
  });
}

/** Returns the guids of the attachments that a body refers to; undefined if the body is unreadable. */
function attachmentsInBody({ database, queries }: Snapshot, rowId: number): ReadonlyMap<string, string> | undefined {
  const body = database.get(queries.attributedBody, rowId)?.[0];
  return body instanceof Uint8Array ? namedAttachments(body) : undefined;
}

/**
 * Reports whether a file is part of a link preview, which Messages adds by itself. Not all such files have
 * `hide_attachment`, so the name decides too. Source: imessage-exporter, counted over 37,573 attachments.
 */
function isLinkPreview(path: string): boolean {
  return path.toLowerCase().endsWith('.pluginpayloadattachment');
}

/**
 * Returns the guids of the attachments that a body refers to, each with its name; undefined if the body is unreadable.
 */
function namedAttachments(body: Uint8Array): ReadonlyMap<string, string> | undefined {
  const budget = new RowBudget();
  const text = readAttributedText(body, budget);
  if (text?.runs === undefined) return undefined;
  const parts = new RunReader(budget).parts(text);
  return new Map(
    parts.flatMap(({ runs = [] }) => runs.map((run) => [run.attachment_guid ?? '', run.name ?? ''] as const)),
  );
}

import type { MessageContent, MessagePart } from '../../model/content.ts';
import type { MessageKind } from '../../model/details.ts';
import { lookupTable } from '../../model/lookup-table.ts';
import type { AddedToRow, DecodedText, RunDecoder } from '../decoder.ts';
import { type AttributedText, readAttributedText } from './attributed-runs.ts';
import { lastOfColons } from './members.ts';
import { RunReader } from './parts.ts';
import { RowBudget, type StoredBlob } from './row-budget.ts';
import { newestVersions, readSummaryInfo, type SummaryInfo } from './summary-info.ts';

/** The columns from which a message's content is decoded. */
export interface ContentRow {
  readonly guid: string;
  /** The row's text as the API shows it. */
  readonly text: string;
  readonly attributedBody: StoredBlob;
  readonly summaryInfo: StoredBlob;
  /** The column `balloon_bundle_id`. */
  readonly balloon: string;
  /**
   * Guid of the message to which the row refers, such as a vote's poll; "" for none. The prefix `p:N/` has been
   * removed.
   */
  readonly associatedGuid: string;
  readonly isVote: boolean;
  /** True if the whole message was unsent (decision U3). */
  readonly isUnsent: boolean;
}

/** The decoded blobs of a row. */
export interface DecodedRow {
  readonly kind: MessageKind | 'poll_vote';
  readonly content: MessageContent;
  /** The text in attributedBody; undefined if there is none, or if it is unreadable. */
  readonly text?: string | undefined;
}

/** Kinds of rows. Key: the bundle id, which is the last part of the balloon's id. */
const BALLOONS: Readonly<Record<string, MessageKind>> = lookupTable({
  'com.apple.messages.URLBalloonProvider': 'link',
  'com.apple.messages.Polls': 'poll',
  'com.apple.Handwriting.HandwritingProvider': 'handwriting',
  'com.apple.DigitalTouchBalloonProvider': 'digital_touch',
});

/** Returns the kind of a row without an `item_type`, by its balloon. */
function kindOfBalloon(balloon: string): MessageKind {
  return balloon === '' ? 'message' : (BALLOONS[lastOfColons(balloon)] ?? 'app');
}

/** The content that features decode of a row, besides its text. */
export interface AddedDecoding {
  readonly runs: readonly RunDecoder[];
  read(row: DecodedText, budget: RowBudget): AddedToRow;
}

const NOTHING_ADDED: AddedDecoding = { runs: [], read: () => ({ content: {} }) };

/**
 * Decodes the blobs of a row. Never throws. `content.undecoded` names the columns whose blobs could not be decoded, or
 * only in part.
 */
export function decodeRow(row: ContentRow, budget = new RowBudget(), added = NOTHING_ADDED): DecodedRow {
  const { runs } = added;
  const body = budget.read('attributedBody', row.attributedBody, (bytes) => readAttributedText(bytes, budget));
  if (body !== undefined && body.runs === undefined) budget.note('attributedBody');
  const summary = budget.read('message_summary_info', row.summaryInfo, (bytes) => readSummaryInfo(bytes, budget, runs));
  const stored = body ? budget.within('attributedBody', () => partsOf(body, budget, runs)) : editedParts(summary);
  const byBalloon = kindOfBalloon(row.balloon);
  const { kind = byBalloon, content } = added.read({ ...row, body, kind: byBalloon }, budget);
  return {
    kind,
    content: { ...textContent(row, kind, stored, summary), ...content, ...budget.undecoded() },
    text: body?.text,
  };
}

/** Returns the parts of a row whose text is known only from its edits. */
function editedParts(summary: SummaryInfo | undefined): readonly MessagePart[] {
  return newestVersions(summary).map((version) => ({ ...version, text: version.text ?? '' }));
}

function partsOf(body: AttributedText, budget: RowBudget, runs: readonly RunDecoder[]): readonly MessagePart[] {
  return body.runs === undefined ? [] : new RunReader(budget, runs).parts(body);
}

function textContent(
  row: ContentRow,
  kind: DecodedRow['kind'],
  stored: readonly MessagePart[],
  summary: SummaryInfo | undefined,
) {
  const { edits = [], unsentParts = [], translations = [] } = summary ?? {};
  const parts = row.isUnsent ? [] : withUnsent(stored, unsentParts);
  const [only, another] = parts;
  // Plain content gets no `parts`. Content is plain if it is a single text without attributes. A text that is only the
  // URL of a link is plain too, because the link's card contains the URL.
  const isPlain =
    another === undefined &&
    (only === undefined || (only.part === 0 && !only.unsent && (!only.runs || kind === 'link')));
  const mentions = new Set<string>();
  const transcripts: string[] = [];
  for (const { runs = [] } of parts) {
    for (const { mention, transcript } of runs) {
      if (mention !== undefined) mentions.add(mention);
      if (transcript !== undefined) transcripts.push(transcript);
    }
  }
  return {
    ...(!isPlain && { parts }),
    ...(mentions.size > 0 && { mentions: [...mentions] }),
    ...(edits.length > 0 && { edits }),
    ...(unsentParts.length > 0 && { unsent_parts: unsentParts }),
    ...(translations.length > 0 && { translations }),
    ...(transcripts.length > 0 && { transcript: transcripts.join('\n') }),
  };
}

/** Adds the unsent parts, which have no text, and orders all parts by number. */
function withUnsent(parts: readonly MessagePart[], unsent: readonly number[]): readonly MessagePart[] {
  const left = new Set(parts.map(({ part }) => part));
  const gone = unsent.filter((part) => !left.has(part)).map((part) => ({ part, text: '', unsent: true as const }));
  return gone.length === 0 ? parts : [...parts, ...gone].toSorted((one, other) => one.part - other.part);
}

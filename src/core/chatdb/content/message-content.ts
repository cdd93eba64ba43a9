import type { MessageContent, MessagePart } from '../../model/content.ts';
import type { MessageKind } from '../../model/details.ts';
import { lookupTable } from '../../model/lookup-table.ts';
import { appCardOf } from './app-card.ts';
import { type AttributedText, readAttributedText } from './attributed-runs.ts';
import { readDigitalTouch, readHandwriting } from './drawings.ts';
import { readKeyedArchive } from './keyed-archive.ts';
import { linkPreviewOf } from './link-preview.ts';
import { lastOfColons } from './members.ts';
import { onlyLinkOf, RunReader } from './parts.ts';
import { type PollPayload, pollPayloadOf } from './poll-payload.ts';
import { RowBudget, type StoredBlob } from './row-budget.ts';
import { newestVersions, readSummaryInfo, type SummaryInfo } from './summary-info.ts';

/** The columns from which a message's content is decoded. */
export interface ContentRow {
  readonly guid: string;
  /** The row's text as the API shows it. */
  readonly text: string;
  readonly attributedBody: StoredBlob;
  readonly summaryInfo: StoredBlob;
  readonly payload: StoredBlob;
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
  /** The decoded balloon of a poll. The poll's votes are in other rows. */
  readonly poll?: PollPayload | undefined;
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

/**
 * Decodes the blobs of a row. Never throws. `content.undecoded` names the columns whose blobs could not be decoded, or
 * only in part.
 */
export function decodeRow(row: ContentRow, budget = new RowBudget()): DecodedRow {
  const body = budget.read('attributedBody', row.attributedBody, (bytes) => readAttributedText(bytes, budget));
  if (body !== undefined && body.runs === undefined) budget.note('attributedBody');
  const summary = budget.read('message_summary_info', row.summaryInfo, (bytes) => readSummaryInfo(bytes, budget));
  const stored = body ? budget.within('attributedBody', () => partsOf(body, budget)) : editedParts(summary);
  const { kind, content, poll } = budget.within('payload_data', () => balloonOf(row, body, budget));
  return {
    kind,
    content: { ...textContent(row, kind, stored, summary), ...content, ...budget.undecoded() },
    poll,
    text: body?.text,
  };
}

/** Returns the parts of a row whose text is known only from its edits. */
function editedParts(summary: SummaryInfo | undefined): readonly MessagePart[] {
  return newestVersions(summary).map((version) => ({ ...version, text: version.text ?? '' }));
}

function partsOf(body: AttributedText, budget: RowBudget): readonly MessagePart[] {
  return body.runs === undefined ? [] : new RunReader(budget).parts(body);
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

type Payload = ReadonlyMap<string, unknown>;
const NO_PAYLOAD: Payload = new Map();

function balloonOf(row: ContentRow, body: AttributedText | undefined, budget: RowBudget): DecodedRow {
  const read = <Value>(decode: (bytes: Uint8Array, budget: RowBudget) => Value | undefined): Value | undefined =>
    budget.read('payload_data', row.payload, (bytes) => decode(bytes, budget));
  const archive = (): Payload | undefined => read(payloadOf);
  // A row without a balloon id can have a link's preview too, if its whole text is one link.
  const onlyLink = body && onlyLinkOf(body);
  const hasPreview = row.payload !== undefined && row.payload.length > 0 && onlyLink !== undefined;
  const kind = row.balloon === '' && hasPreview ? 'link' : kindOfBalloon(row.balloon);
  switch (kind) {
    case 'link': {
      const link = linkPreviewOf(archive() ?? NO_PAYLOAD, onlyLink ?? urlIn(row.text || (body?.text ?? '')), budget);
      return { kind, content: { ...(link !== undefined && { link }) } };
    }
    case 'app':
      return { kind, content: { app: appCardOf(row.balloon, archive() ?? NO_PAYLOAD, budget) } };
    case 'poll':
      return pollContent(
        row,
        budget,
        read((bytes) => {
          const payload = payloadOf(bytes, budget);
          return payload && pollPayloadOf(payload, budget);
        }),
      );
    case 'handwriting': {
      const handwriting = read(readHandwriting);
      return { kind, content: { ...(handwriting !== undefined && { handwriting }) } };
    }
    case 'digital_touch': {
      const touch = read((bytes) => readDigitalTouch(bytes, budget));
      return { kind, content: { ...(touch !== undefined && { digital_touch: touch }) } };
    }
    default:
      return { kind, content: {} };
  }
}

function pollContent(row: ContentRow, budget: RowBudget, poll: PollPayload | undefined): DecodedRow {
  const names = row.associatedGuid;
  if (row.isVote) {
    const choices = poll?.choices?.filter((choice) => budget.shown(choice) !== undefined);
    const vote = choices && { poll_guid: names, choices };
    return { kind: 'poll_vote', content: { ...(vote && { poll_vote: vote }) } };
  }
  if (poll === undefined) return { kind: 'poll', content: {} };
  if (names !== '' && names !== row.guid) {
    return { kind: 'poll', content: { poll_update: { poll_guid: names, options: poll.options } } };
  }
  const { question, creator, options } = poll;
  return {
    kind: 'poll',
    content: {
      poll: {
        ...(question !== undefined && { question }),
        ...(creator !== undefined && { creator }),
        options: options.map((option) => ({ ...option, votes: [] })),
      },
    },
    poll,
  };
}

function payloadOf(bytes: Uint8Array, budget: RowBudget): Payload | undefined {
  const payload = readKeyedArchive(bytes, budget);
  return payload instanceof Map ? payload : undefined;
}

const MAX_URL_CHARACTERS = 8192;

/** Returns the text if it is nothing but a web address. */
function urlIn(text: string): string | undefined {
  const trimmed = text.length > MAX_URL_CHARACTERS ? '' : text.trim();
  return /^https?:\/\/\S+$/i.test(trimmed) ? trimmed : undefined;
}

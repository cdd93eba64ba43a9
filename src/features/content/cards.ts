import type { CardContent } from '../../client/content-types.ts';
import {
  type AddedToRow,
  type DecodedText,
  onlyLinkOf,
  type RowBudget,
  readKeyedArchive,
  type StoredBlob,
} from '../../core/chatdb/public.ts';
import { appCardOf } from './app-card.ts';
import { readDigitalTouch, readHandwriting } from './drawings.ts';
import { linkPreviewOf } from './link-preview.ts';
import { type PollPayload, pollPayloadOf } from './poll-payload.ts';

interface DecodedCard extends AddedToRow {
  readonly content: CardContent;
  /** The decoded balloon of a poll. */
  readonly poll?: PollPayload | undefined;
}

type Payload = ReadonlyMap<string, unknown>;
const NO_PAYLOAD: Payload = new Map();

/** Decodes the balloon of a row. The votes of a poll are in other rows. */
export function cardOf(row: DecodedText, payload: StoredBlob, budget: RowBudget): DecodedCard {
  return budget.within('payload_data', () => decodedCard(row, payload, budget));
}

function decodedCard(row: DecodedText, stored: StoredBlob, budget: RowBudget): DecodedCard {
  const { body } = row;
  const read = <Value>(decode: (bytes: Uint8Array, budget: RowBudget) => Value | undefined): Value | undefined =>
    budget.read('payload_data', stored, (bytes) => decode(bytes, budget));
  const archive = (): Payload | undefined => read(payloadOf);
  // A row without a balloon id can have a link's preview too, if its whole text is one link.
  const onlyLink = body && onlyLinkOf(body);
  const hasPreview = stored !== undefined && stored.length > 0 && onlyLink !== undefined;
  const kind = row.balloon === '' && hasPreview ? 'link' : row.kind;
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

function pollContent(row: DecodedText, budget: RowBudget, poll: PollPayload | undefined): DecodedCard {
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

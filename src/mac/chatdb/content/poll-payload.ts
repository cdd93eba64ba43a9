import type { PollOption } from '../../../domain/cards.ts';
import { dictionaryOf, distinct, isList, parseJson, present, textIn } from './members.ts';

/** The decoded balloon of a poll, of a vote or of an added option (since macOS 26). */
export interface PollPayload {
  readonly question: string | undefined;
  readonly creator: string | undefined;
  readonly options: readonly PollOption[];
  /** Ids of the chosen options; undefined if the row is not a vote. */
  readonly choices: readonly string[] | undefined;
}

const MAX_OPTIONS = 1000;

/** Reads a poll from its balloon's archive: JSON in a `data:` URL. Returns undefined for anything else. */
export function pollPayloadOf(payload: ReadonlyMap<string, unknown>): PollPayload | undefined {
  const url = textIn(payload, 'URL') ?? '';
  const [, data] = /^data:,([\w\-+/=]*)(?:\?|$)/.exec(url) ?? [];
  if (data === undefined) return undefined;
  const content = dictionaryOf(parseJson(Buffer.from(data, 'base64url').toString('utf8')));
  if (!content.has('item')) return undefined;
  const item = dictionaryOf(content.get('item'));
  return {
    question: textIn(item, 'title'),
    creator: addressIn(item, 'creatorHandle'),
    options: listOf(item.get('orderedPollOptions')).flatMap((option) => {
      const id = textIn(option, 'optionIdentifier');
      if (id === undefined) return [];
      return [{ id, ...present({ text: textIn(option, 'text'), creator: addressIn(option, 'creatorHandle') }) }];
    }),
    choices: item.has('votes')
      ? distinct(listOf(item.get('votes')).map((vote) => textIn(vote, 'voteOptionIdentifier') ?? ''))
          .filter(Boolean)
          .toSorted()
      : undefined,
  };
}

function listOf(value: unknown): readonly ReadonlyMap<string, unknown>[] {
  return isList(value) ? value.slice(0, MAX_OPTIONS).map(dictionaryOf) : [];
}

function addressIn(from: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const address = textIn(from, name)?.replace(/^(?:mailto|tel):/, '');
  return address === '' ? undefined : address;
}

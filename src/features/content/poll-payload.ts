import type { PollOption } from '../../client/content-types.ts';
import {
  dictionaryOf,
  distinct,
  isList,
  parseJson,
  present,
  type RowBudget,
  textIn,
} from '../../core/chatdb/public.ts';

/** The decoded balloon of a poll, of a vote or of an added option (since macOS 26). */
export interface PollPayload {
  readonly question: string | undefined;
  readonly creator: string | undefined;
  readonly options: readonly PollOption[];
  /** Ids of the chosen options; undefined if the row is not a vote. */
  readonly choices: readonly string[] | undefined;
}

/** Reads a poll from its balloon's archive: JSON in a `data:` URL. Returns undefined for anything else. */
export function pollPayloadOf(payload: ReadonlyMap<string, unknown>, budget: RowBudget): PollPayload | undefined {
  const url = textIn(payload, 'URL') ?? '';
  const [, data] = /^data:,([\w\-+/=]*)(?:\?|$)/.exec(url) ?? [];
  if (data === undefined) return undefined;
  const content = dictionaryOf(parseJson(Buffer.from(data, 'base64url').toString('utf8'), budget));
  if (!content.has('item')) return undefined;
  const item = dictionaryOf(content.get('item'));
  return {
    question: budget.textIn(item, 'title'),
    creator: addressIn(item, 'creatorHandle', budget),
    options: listOf(item.get('orderedPollOptions'), budget).flatMap((option) => {
      const id = budget.textIn(option, 'optionIdentifier');
      if (id === undefined) return [];
      return [
        {
          id,
          ...present({ text: budget.textIn(option, 'text'), creator: addressIn(option, 'creatorHandle', budget) }),
        },
      ];
    }),
    choices: item.has('votes')
      ? distinct(listOf(item.get('votes'), budget).map((vote) => textIn(vote, 'voteOptionIdentifier') ?? ''))
          .filter(Boolean)
          .toSorted()
      : undefined,
  };
}

function listOf(value: unknown, budget: RowBudget): readonly ReadonlyMap<string, unknown>[] {
  return isList(value) ? budget.items(value).map(dictionaryOf) : [];
}

function addressIn(from: ReadonlyMap<string, unknown>, name: string, budget: RowBudget): string | undefined {
  const address = budget.textIn(from, name)?.replace(/^(?:mailto|tel):/, '');
  return address === '' ? undefined : address;
}

import type { MessageContent, PartEdits } from './content.ts';
import type { MessageDetails } from './details.ts';
import type { Reaction } from './reaction.ts';

/** The members of the details that say how a message was changed. */
type Changed = Pick<MessageDetails, 'edited_at'> & Pick<MessageContent, 'effect' | 'unsent_parts'>;

/**
 * Returns how a message was changed and sent, as every list, page and sentence says it: "one part unsent", "edited",
 * "sent with slam". A message of which a part was unsent does not count as edited too.
 */
export function changeNotes({ edited_at: edited, effect, unsent_parts: parts = [] }: Changed): readonly string[] {
  return [
    ...unsentNotes(parts),
    ...(edited !== null && parts.length === 0 ? ['edited'] : []),
    ...(effect === undefined ? [] : [effectNote(effect)]),
  ];
}

export function unsentNotes(parts: readonly number[]): readonly string[] {
  if (parts.length === 0) return [];
  return [parts.length === 1 ? 'one part unsent' : `${parts.length} parts unsent`];
}

export function effectNote({ name }: NonNullable<MessageContent['effect']>): string {
  return `sent with ${name === 'other' ? 'an effect' : name.replaceAll('_', ' ')}`;
}

/** Returns the reactions to show beside a message. A poll itself shows its votes. */
export function shownReactions({ kind, reactions = [] }: Partial<MessageDetails> = {}): readonly Reaction[] {
  return reactions.filter(({ reaction_type: type }) => kind !== 'poll' || type !== 'other');
}

/** Returns what parts of a message said before they were edited or unsent, oldest first. */
export function earlierTexts(edits: readonly PartEdits[] = []): PartEdits['history'] {
  return edits.flatMap(({ history }) => history.slice(0, -1));
}

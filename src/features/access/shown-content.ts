import type { addedRules } from '../../core/details-part.ts';
import type { MessageContent } from '../../core/model/content.ts';
import type { KeyRules } from './narrowing.ts';

const RUN = {
  start: 'shown',
  end: 'shown',
  styles: 'shown',
  animation: 'shown',
  mention: 'shown',
  link: 'shown',
  code: 'shown',
  attachment_guid: 'shown',
  name: 'shown',
  width: 'shown',
  height: 'shown',
  inline: 'shown',
  transcript: 'shown',
} as const;

export const GROUP_EVENT: KeyRules<NonNullable<MessageContent['group_event']>> = {
  type: 'shown',
  who: 'shown',
  name: 'shown',
  item_type: 'shown',
  group_action_type: 'shown',
};

export const LOCATION_SHARE = { action: 'shown', by_me: 'shown' } as const;

/** Returns the rules that the features add for their members of `details`. */
export type AddedRules = ReturnType<typeof addedRules>;

/**
 * Selects what a limited key sees of a row's content. All of it comes from the row itself, which the key may read.
 */
export const shownContent = (added: AddedRules): KeyRules<MessageContent> => ({
  parts: { part: 'shown', text: 'shown', runs: { ...RUN, ...added.run }, unsent: 'shown' },
  mentions: 'shown',
  edits: { part: 'shown', history: { at: 'shown', text: 'shown', runs: { ...RUN, ...added.run } } },
  unsent_parts: 'shown',
  translations: { part: 'shown', text: 'shown', language: 'shown', source_language: 'shown' },
  transcript: 'shown',
  ...added.row,
  effect: { name: 'shown', on: 'shown', id: 'shown' },
  group_event: GROUP_EVENT,
  location_share: LOCATION_SHARE,
  reply_to_part: 'shown',
  reply_to_range: 'shown',
  subject: 'shown',
  scheduled: { for: 'shown', state: 'shown' },
  undecoded: 'shown',
  content_left_out: 'shown',
});

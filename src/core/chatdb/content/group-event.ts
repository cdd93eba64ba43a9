import type { GroupEvent, LocationShare, MessageEffect } from '../../model/content.ts';
import { lookupTable } from '../../model/lookup-table.ts';

/** Types of group events. Each key is a row's `item_type` and `group_action_type`. */
const EVENTS: Readonly<Record<string, GroupEvent['type']>> = lookupTable({
  '1,0': 'added',
  '1,1': 'removed',
  '3,0': 'left',
  '3,1': 'photo_set',
  '3,2': 'photo_removed',
  '3,4': 'background_set',
  '3,6': 'background_removed',
});
const RENAMED = 2;

/** The columns of a row that records a change of a conversation. */
interface GroupColumns {
  readonly itemType: number;
  readonly action: number;
  readonly title: string;
  /** Row id of the handle of the person who acted. */
  readonly by: number;
  /** Row id of the handle of the person affected. */
  readonly other: number;
  /** Address of the person affected; undefined if chat.db no longer has the handle. */
  readonly who: string | undefined;
  /** Reports whether a member changed their address in the same conversation at the time of the row. */
  readonly hasNewAddress: () => boolean;
}

/**
 * Returns the change of a conversation that a row records; undefined for any other row. Messages stores a new address
 * as two rows of one time, the removal of the old address and the addition of the new one by itself
 * (imessage-exporter, pull request 683). Both are the change of an address.
 */
export function groupEventOf(row: GroupColumns): GroupEvent | undefined {
  const { itemType, action, title, by, other, who } = row;
  if (itemType < 1 || itemType > 3) return undefined;
  if (itemType === RENAMED) return title === '' ? { type: 'name_removed' } : { type: 'renamed', name: title };
  const type = EVENTS[`${itemType},${action}`] ?? 'other';
  if (type === 'other') return { type, item_type: itemType, group_action_type: action };
  const isNewAddress = type === 'added' && other !== 0 && other === by;
  const isOldAddress = type === 'removed' && row.hasNewAddress();
  return {
    type: isNewAddress || isOldAddress ? 'address_changed' : type,
    ...(itemType === 1 && who !== undefined && { who }),
  };
}

/**
 * Describes the start (`share_status` 0) or the end (`share_status` 1) of sharing a location (imessage-exporter).
 * `by_me` is true if the row is outgoing, or if the row names another person and its `share_direction` is 0.
 */
export function locationShareOf(status: number, isFromMe: boolean, other: number, direction: number): LocationShare {
  const isMine = isFromMe || (other !== 0 && direction === 0);
  return { action: status === 1 ? 'stopped' : 'started', by_me: isMine };
}

const BUBBLE = 'com.apple.MobileSMS.expressivesend.';
const SCREEN = 'com.apple.messages.effect.CK';
const BUBBLES: Readonly<Record<string, string>> = lookupTable({
  impact: 'slam',
  loud: 'loud',
  gentle: 'gentle',
  invisibleink: 'invisible_ink',
});
const SCREENS: Readonly<Record<string, string>> = lookupTable({
  Confetti: 'confetti',
  Echo: 'echo',
  Fireworks: 'fireworks',
  HappyBirthday: 'balloons',
  Heart: 'heart',
  Lasers: 'lasers',
  ShootingStar: 'shooting_star',
  Sparkles: 'sparkles',
  Spotlight: 'spotlight',
});

/** Returns the effect named by `expressive_send_style_id`. */
export function effectOf(id: string): MessageEffect | undefined {
  if (id === '') return undefined;
  const bubble = id.startsWith(BUBBLE) ? BUBBLES[id.slice(BUBBLE.length)] : undefined;
  if (bubble !== undefined) return { name: bubble, on: 'bubble', id };
  const screen = id.startsWith(SCREEN) ? SCREENS[id.slice(SCREEN.length).replace(/Effect$/, '')] : undefined;
  if (screen !== undefined) return { name: screen, on: 'screen', id };
  return { name: 'other', on: id.startsWith(BUBBLE) ? 'bubble' : id.startsWith(SCREEN) ? 'screen' : 'unknown', id };
}

/** Parses `thread_originator_part`, which is `part:start:length` or only `part`. */
export function replyPartOf(stored: string): {
  readonly reply_to_part?: number;
  readonly reply_to_range?: readonly [number, number];
} {
  const [, part, start, length] = /^(\d{1,5})(?::(\d{1,7}):(\d{1,7}))?$/.exec(stored) ?? [];
  if (part === undefined) return {};
  const range = [Number(start), Number(start) + Number(length)] as const;
  return { reply_to_part: Number(part), ...(length !== undefined && { reply_to_range: range }) };
}

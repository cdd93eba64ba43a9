/** Text styles, which Messages offers since macOS 15. */
export const TEXT_STYLES = ['bold', 'italic', 'underline', 'strikethrough'] as const;

// Features add members to the details by declaring them in these interfaces (`declare module`), where a client finds
// the types too. How a member is read, and what a key sees of it, is a `DetailsPart`.

/** Members that features add to the content of a row. */
// biome-ignore lint/suspicious/noEmptyInterface: the core adds none
export interface AddedContent {}

/** Members that features add to an attachment. */
// biome-ignore lint/suspicious/noEmptyInterface: the core adds none
export interface AddedToFile {}

/** Members that features add to a run. */
// biome-ignore lint/suspicious/noEmptyInterface: the core adds none
export interface AddedToRun {}

/**
 * A range of a part that is more than plain text. `start` and `end` are UTF-16 offsets into the part's text; `end` is
 * exclusive.
 */
export interface TextRun extends AddedToRun {
  readonly start: number;
  readonly end: number;
  readonly styles?: readonly (typeof TEXT_STYLES)[number][] | undefined;
  /** `other:N` for an animation that this version does not know. */
  readonly animation?: string | undefined;
  /** Address of the mentioned person. */
  readonly mention?: string | undefined;
  readonly link?: string | undefined;
  /** A one-time code. */
  readonly code?: string | undefined;
  readonly attachment_guid?: string | undefined;
  readonly name?: string | undefined;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** True for a picture inside the text: a genmoji, a memoji or a sticker. */
  readonly inline?: true | undefined;
  /** Apple's transcript of the voice message in this range. */
  readonly transcript?: string | undefined;
}

/** One bubble of a message. Reactions and replies refer to it by its number, `part`. */
export interface MessagePart {
  readonly part: number;
  /** U+FFFC stands for each attachment. */
  readonly text: string;
  readonly runs?: readonly TextRun[] | undefined;
  readonly unsent?: true | undefined;
}

/** The texts of an edited part, oldest first. */
export interface PartEdits {
  readonly part: number;
  readonly history: readonly {
    readonly at?: string | undefined;
    /** The text of this version of the part; null if the text cannot be decoded. */
    readonly text: string | null;
    readonly runs?: readonly TextRun[] | undefined;
  }[];
}

/** A translation of one part of a message, made by macOS 26. */
export interface Translation {
  readonly part: number;
  readonly text: string;
  readonly language?: string | undefined;
  readonly source_language?: string | undefined;
}

/** The effect with which a message is displayed. `id` is Apple's identifier of the effect. */
export interface MessageEffect {
  /** `other` for an effect that this version does not know. */
  readonly name: string;
  readonly on: 'bubble' | 'screen' | 'unknown';
  readonly id: string;
}

export const GROUP_EVENTS = [
  'added',
  'removed',
  'address_changed',
  'renamed',
  'name_removed',
  'left',
  'photo_set',
  'photo_removed',
  'background_set',
  'background_removed',
  'other',
] as const;

/** A change that a person made to a conversation. */
export interface GroupEvent {
  readonly type: (typeof GROUP_EVENTS)[number];
  /** Address of the affected person; absent if no longer known. */
  readonly who?: string | undefined;
  /** The new name. */
  readonly name?: string | undefined;
  /** `item_type` as stored; only if this version does not know the change. */
  readonly item_type?: number | undefined;
  readonly group_action_type?: number | undefined;
}

export interface LocationShare {
  readonly action: 'started' | 'stopped';
  readonly by_me: boolean;
}

/**
 * The schedule of a message that was scheduled on the phone. `for` is the time to send; `state` is `schedule_state` as
 * stored.
 */
interface PhoneSchedule {
  readonly for: string;
  readonly state: number | null;
}

/** Columns of chat.db with encoded content, in the order in which `undecoded` lists them. */
export const CONTENT_COLUMNS = [
  'attributedBody',
  'message_summary_info',
  'payload_data',
  'sticker_user_info',
  'user_info',
  'attribution_info',
] as const;
export type ContentColumn = (typeof CONTENT_COLUMNS)[number];

/** The content of a row besides its text (decision V1). Members for which the row has no content are absent. */
export interface MessageContent extends AddedContent {
  /** Absent if the message consists of one plain part, or was unsent. */
  readonly parts?: readonly MessagePart[] | undefined;
  /** Addresses of the mentioned people, without duplicates. */
  readonly mentions?: readonly string[] | undefined;
  readonly edits?: readonly PartEdits[] | undefined;
  /** Numbers of the unsent parts. */
  readonly unsent_parts?: readonly number[] | undefined;
  readonly translations?: readonly Translation[] | undefined;
  /** The transcripts of all voice messages in the row, one per line. */
  readonly transcript?: string | undefined;
  readonly effect?: MessageEffect | undefined;
  readonly group_event?: GroupEvent | undefined;
  readonly location_share?: LocationShare | undefined;
  readonly reply_to_part?: number | undefined;
  /** The range that the reply refers to: UTF-16 offsets into the text of part `reply_to_part`. */
  readonly reply_to_range?: readonly [number, number] | undefined;
  readonly subject?: string | undefined;
  readonly scheduled?: PhoneSchedule | undefined;
  /** Columns whose content cannot be decoded. */
  readonly undecoded?: readonly ContentColumn[] | undefined;
  /**
   * True if members are missing because earlier messages in the list used up the decoding budget. Reading the message
   * alone returns all members.
   */
  readonly content_left_out?: true | undefined;
}

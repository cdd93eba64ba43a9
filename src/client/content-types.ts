// The content of a message besides its text, as the decoding feature adds it to the details.

declare module '../core/model/content.ts' {
  interface AddedContent extends CardContent {}
  interface AddedToFile extends FileContent {}
  interface AddedToRun extends RunContent {}
}

/** Cards, polls and drawings in a message. Members that a row does not have are absent. */
export interface CardContent {
  readonly link?: LinkPreview | undefined;
  readonly app?: AppCard | undefined;
  readonly poll?: Poll | undefined;
  readonly poll_update?: PollUpdate | undefined;
  readonly poll_vote?: PollVote | undefined;
  readonly handwriting?: Handwriting | undefined;
  readonly digital_touch?: DigitalTouch | undefined;
}

/** The content of the file of an attachment: a sticker, a contact or a place. */
export interface FileContent {
  readonly sticker?: Sticker | undefined;
  readonly contact?: ContactCard | undefined;
  readonly location?: LocationPin | undefined;
}

export interface RunContent {
  readonly detected?: DetectedData | undefined;
}

/** Something that macOS detected in a text, such as a date or an amount of money. */
export interface DetectedData {
  readonly type: 'money' | 'quantity' | 'flight' | 'tracking_number' | 'address' | 'date' | 'other';
  readonly text?: string | undefined;
  readonly currency?: string | undefined;
  readonly unit?: string | undefined;
  readonly airline?: string | undefined;
  readonly number?: string | undefined;
  readonly carrier?: string | undefined;
  readonly street?: string | undefined;
  readonly city?: string | undefined;
  readonly state?: string | undefined;
  readonly postal_code?: string | undefined;
  readonly country?: string | undefined;
  readonly country_code?: string | undefined;
}

/** The preview of a link as Messages stored it. Postern fetches nothing. */
export interface LinkPreview {
  readonly type: 'page' | 'music' | 'app_store' | 'place' | 'document';
  readonly url?: string | undefined;
  readonly original_url?: string | undefined;
  readonly title?: string | undefined;
  readonly summary?: string | undefined;
  readonly site_name?: string | undefined;
  readonly item_type?: string | undefined;
  readonly images?: readonly string[] | undefined;
  /** True while Messages is still fetching the preview. */
  readonly placeholder?: true | undefined;
  readonly music?: Texts<'artist' | 'album' | 'track' | 'preview_url' | 'lyrics'> | undefined;
  readonly app_store?: Texts<'name' | 'subtitle' | 'platform' | 'genre'> | undefined;
  readonly place?:
    | Texts<'name' | 'address' | 'street' | 'city' | 'state' | 'postal_code' | 'country' | 'country_code'>
    | undefined;
  readonly document?: Texts<'app' | 'bundle_id' | 'created_at'> | undefined;
}

/** Optional texts. */
export type Texts<Name extends string> = { readonly [name in Name]?: string | undefined };

/** A card that an app sent. The app wrote the texts, in the language of the sender's phone. */
export interface AppCard
  extends Texts<
    | 'team_id'
    | 'name'
    | 'title'
    | 'subtitle'
    | 'caption'
    | 'subcaption'
    | 'secondary_subcaption'
    | 'tertiary_subcaption'
    | 'summary'
    | 'url'
    | 'session_id'
  > {
  readonly type: 'app' | 'payment' | 'check_in' | 'find_my' | 'fitness' | 'photos' | 'business';
  readonly bundle_id: string;
  readonly check_in?: Texts<'sent_at' | 'expected_at' | 'overdue_at'> | undefined;
  readonly business?: BusinessCard | undefined;
}

/** A question from a business, or a person's answer to such a question. */
export interface BusinessCard extends Texts<'title' | 'subtitle' | 'summary' | 'selected'> {
  readonly type: 'quick_reply' | 'list_picker' | 'form_request' | 'form_response';
  readonly options?: readonly string[] | undefined;
  readonly items?: readonly BusinessItem[] | undefined;
  readonly answers?: readonly { readonly question: string; readonly answers: readonly string[] }[] | undefined;
}

interface BusinessItem {
  readonly title: string;
  readonly subtitle?: string | undefined;
  readonly selected: boolean;
}

export interface PollOption {
  readonly id: string;
  readonly text?: string | undefined;
  /** Address of the person who added the option. */
  readonly creator?: string | undefined;
}

/** A poll with each person's current choice. */
export interface Poll {
  readonly question?: string | undefined;
  /** Guid of the message that asks the question; only if the poll itself contains no question. */
  readonly question_guid?: string | undefined;
  readonly creator?: string | undefined;
  readonly options: readonly (PollOption & { readonly votes: readonly string[] })[];
}

/** One person's complete choice in a poll; empty if the person took every vote back. */
export interface PollVote {
  readonly poll_guid: string;
  /** Ids of the chosen options. */
  readonly choices: readonly string[];
}

/** All options of a poll after an option was added: the earlier options and the new one. */
export interface PollUpdate {
  readonly poll_guid: string;
  readonly options: readonly PollOption[];
}

/** A handwritten message. Its packed strokes are not decoded. */
export interface Handwriting {
  readonly id?: string | undefined;
  readonly drawn_at?: string | undefined;
  readonly width: number;
  readonly height: number;
  readonly strokes: number;
}

export interface DigitalTouch {
  readonly type: 'tap' | 'kiss' | 'heartbeat' | 'heartbreak' | 'sketch' | 'fireball' | 'photo' | 'video' | 'other';
  readonly id?: string | undefined;
  /** Number of taps or kisses. */
  readonly count?: number | undefined;
  readonly strokes?: number | undefined;
  readonly points?: number | undefined;
  readonly bpm?: number | undefined;
  readonly duration_s?: number | undefined;
  readonly broken_at_s?: number | undefined;
  /** Number of strokes in all drawings on the photo; `overlays` is the number of drawings. */
  readonly drawing_strokes?: number | undefined;
  readonly overlays?: number | undefined;
}

export interface Sticker extends Texts<'bundle_id' | 'app_name' | 'description' | 'effect'> {
  readonly source?: 'genmoji' | 'memoji' | 'user' | 'app' | undefined;
}

export interface ContactCard {
  readonly name?: string | undefined;
  readonly organization?: string | undefined;
  readonly phones: readonly string[];
  readonly emails: readonly string[];
}

/** A place that was sent from Maps or as the current location. */
export interface LocationPin {
  readonly name?: string | undefined;
  readonly latitude?: number | undefined;
  readonly longitude?: number | undefined;
  readonly url?: string | undefined;
}

import type { FileContent } from '../../client/content-types.ts';
import {
  type Decoder,
  type FileContents,
  type FileDecoder,
  type RowDecoder,
  toText,
} from '../../core/chatdb/public.ts';
import { cardOf } from './cards.ts';
import { detectedIn } from './detected-data.ts';
import { cardNote, fileNote } from './notes.ts';
import { pollOf } from './polls.ts';
import { STICKER_HEAD_BYTES, stickerEffectOf, stickerOf } from './sticker.ts';
import { transcriptOf } from './transcript.ts';
import { contactOf, locationOf, MAX_CARD_BYTES } from './vcard.ts';

const CARD_COLUMNS = { payload: 'payload_data' } as const;

const cards: RowDecoder<typeof CARD_COLUMNS> = {
  columns: CARD_COLUMNS,
  read(row, { payload }, { budget, place }) {
    const { kind, content, poll } = cardOf(row, payload(), budget);
    if (poll === undefined || place === undefined) return { kind, content };
    return { kind, content: { ...content, poll: pollOf(place.snapshot, place.row, poll, budget) } };
  },
};

const FILE_COLUMNS = {
  isSticker: 'is_sticker',
  stickerInfo: 'sticker_user_info',
  attribution: 'attribution_info',
  description: 'emoji_image_short_description',
  userInfo: 'user_info',
} as const;
type Files = FileDecoder<typeof FILE_COLUMNS>;
type FileParameters = Parameters<Files['read']>;

const files: Files = {
  columns: FILE_COLUMNS,
  read(file, columns, reading) {
    const { budget } = reading;
    // Most attachments have a `user_info` of another kind, which is not `undecoded`.
    const info = file.transcript === undefined ? columns.userInfo() : undefined;
    const transcript = info instanceof Uint8Array && budget.within('user_info', () => transcriptOf(info, budget));
    return {
      ...(typeof transcript === 'string' && { transcript }),
      ...(columns.isSticker === 1 && { sticker: stickerIn(columns, reading) }),
      ...vcardIn(file, reading),
    };
  },
};

function stickerIn(
  columns: FileParameters[1],
  { budget, beginning }: FileParameters[2],
): NonNullable<FileContent['sticker']> {
  const blob = columns.attribution();
  const attribution = blob === 'too_large' ? undefined : blob;
  const description = toText(columns.description) || undefined;
  const found = budget.read('sticker_user_info', columns.stickerInfo(), (userInfo) =>
    stickerOf({ userInfo, attribution, description }, budget),
  );
  const head = found?.source === 'user' ? beginning(STICKER_HEAD_BYTES) : undefined;
  const effect = head && stickerEffectOf(head);
  return { ...found, ...(effect !== undefined && { effect }) };
}

const VCARD = /^text\/(?:x-)?vcard$/i;

/** Reads the person or the place in a vCard. */
function vcardIn(
  { mime_type: type, name, bytes }: FileParameters[0],
  { beginning, budget }: FileParameters[2],
): FileContents {
  const isLocation = type === 'text/x-vlocation' || name.toLowerCase().endsWith('.loc.vcf');
  if (!isLocation && !VCARD.test(type ?? '')) return {};
  const text = ((bytes ?? 0) > MAX_CARD_BYTES ? undefined : beginning(MAX_CARD_BYTES))?.toString('utf8') ?? '';
  const contact = isLocation ? undefined : contactOf(text, budget);
  const location = isLocation ? locationOf(text, budget) : undefined;
  return { ...(contact && { contact }), ...(location && { location }) };
}

/** Decodes cards, polls, drawings, stickers, people, places and what macOS detected in a text. */
export const contentDecoder: Decoder = {
  row: cards,
  file: files,
  run: detectedIn,
  rowNote: cardNote,
  fileNote,
};

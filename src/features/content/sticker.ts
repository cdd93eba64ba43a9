import type { Sticker } from '../../client/content-types.ts';
import { dictionaryIn, lastOfColons, present, type RowBudget, readBinaryPlist } from '../../core/chatdb/public.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';

/**
 * Apple's own sources of stickers. Key: the sticker's bundle id. A sticker with any other bundle id comes from an app.
 */
const SOURCES: Readonly<Record<string, Sticker['source']>> = lookupTable({
  'com.apple.messages.genmoji': 'genmoji',
  'com.apple.Animoji.StickersApp.MessagesExtension': 'memoji',
  'com.apple.Jellyfish.Animoji': 'memoji',
  'com.apple.Stickers.UserGenerated.MessagesExtension': 'user',
});

/**
 * Names of sticker effects. Key: the name in a sticker's picture. Value: Postern's name. An effect that is not listed
 * keeps its name. Only the pictures of the owner's own stickers name an effect.
 */
const EFFECTS: Readonly<Record<string, string>> = lookupTable({ stroke: 'outline', iridescent: 'shiny' });

/** The columns of an attachment that describe a sticker. */
interface StickerColumns {
  readonly userInfo: Uint8Array | undefined;
  readonly attribution: Uint8Array | undefined;
  readonly description: string | undefined;
}

/** Describes a sticker and its source. Returns undefined if `sticker_user_info` cannot be read. */
export function stickerOf(
  { userInfo, attribution, description }: StickerColumns,
  budget: RowBudget,
): Sticker | undefined {
  const info = userInfo && readBinaryPlist(userInfo, budget);
  if (!(info instanceof Map)) return undefined;
  const bundle = budget.textIn(info, 'pid');
  if (bundle === undefined) return {};
  const id = lastOfColons(bundle);
  const source = SOURCES[id] ?? 'app';
  const app = source === 'app' && attribution ? dictionaryIn(readBinaryPlist(attribution, budget)) : undefined;
  return {
    source,
    ...present({
      bundle_id: id,
      app_name: app && budget.textIn(app, 'name'),
      // Only Genmoji have a real description. For other stickers, apps store a file name as the description.
      description: source === 'genmoji' ? description : undefined,
    }),
  };
}

/** Number of bytes at the beginning of a sticker's picture that are searched for the effect's name. */
export const STICKER_HEAD_BYTES = 65_536;
const MARK = 'stickerEffect:type="';

/** Returns the effect that the beginning of a sticker's picture names; undefined if it names none. */
export function stickerEffectOf(head: Uint8Array): string | undefined {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const at = text.indexOf(MARK);
  const [, name] = /^([a-z]{1,40})"/i.exec(text.slice(at + MARK.length, at + MARK.length + 42)) ?? [];
  return at < 0 || name === undefined || name === 'none' ? undefined : (EFFECTS[name] ?? name);
}

// The bytes of attachments, in a form that a browser can show.

import type { AttachmentDetails } from '../../../../core/model/details.ts';
import { bytesAt, statusOf } from '../../service/api.ts';

/** How much the page keeps of files that it has shown. The newest file is kept, whatever its size. */
const KEPT_BYTES = 100_000_000;

/** An attachment as the page shows it. */
export interface Attachment {
  readonly name: string;
  readonly path: string;
  /** The path of its bytes in the API. */
  readonly at: string;
  /** Infinite if the size is not known, or 0, as Messages has it for a Genmoji. */
  readonly bytes: number;
  /** Undefined if the page cannot show the type. */
  readonly type: string | undefined;
  readonly isHere: boolean;
  readonly transcript?: string | undefined;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly sticker?: { readonly description?: string | undefined } | undefined;
}

/** Returns the attachment of a message from its details, or from its path if there are none. */
export function attachmentOf(message: string, known: Partial<AttachmentDetails>, index: number): Attachment {
  const { n = index, path, bytes, state, mime_type: type, transcript, width, height, sticker } = known;
  const name = known.name ?? path?.split('/').at(-1) ?? '';
  return {
    name,
    path: path ?? name,
    at: `messages/${encodeURIComponent(message)}/attachments/${n}`,
    bytes: bytes ?? Number.POSITIVE_INFINITY,
    type: typeOf(name, type),
    isHere: state === 'available',
    transcript,
    width,
    height,
    sticker,
  };
}

/**
 * Types of files that the page can show, by file extension. SVG is not among them, because it could contain a script.
 */
const TYPES: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  tiff: 'image/tiff',
  webp: 'image/webp',
  caf: 'audio/x-caf',
  amr: 'audio/amr',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  mp4: 'video/mp4',
};
/**
 * Types of converted files. Only these types are taken from an answer, because a browser never runs a blob of such a
 * type as a page.
 */
const CONVERTED = new Set(['image/jpeg', 'audio/mp4']);
/** Types that are never converted, because the converted picture would not be animated. */
const AS_IT_IS = new Set(['image/gif']);
const SHOWN_EVERYWHERE = new Set(['image/jpeg', 'image/png', 'image/webp']);
const SMALL_BYTES = 500_000;
/** Types of sounds that every browser plays. */
const PLAYABLE = new Set(['audio/mp4', 'audio/mpeg', 'audio/wav']);

/** False once the service has said that it has no converter. */
let canConvert = true;

/**
 * Reports whether the service should convert a file: a large picture, or a picture or sound that some browsers cannot
 * show or play. A GIF is never converted.
 */
const needsConversion = ({ type, bytes }: { readonly type: string; readonly bytes: number }): boolean =>
  type.startsWith('image/')
    ? !AS_IT_IS.has(type) && !(SHOWN_EVERYWHERE.has(type) && bytes <= SMALL_BYTES)
    : type.startsWith('audio/') && !PLAYABLE.has(type);

/** Downloads in progress, by path, so that a picture shown twice loads once. */
const loading = new Map<string, Promise<string>>();
/** Object URLs and sizes by path, the newest one last. */
const kept = new Map<string, { readonly address: string; readonly size: number }>();
let keptBytes = 0;

const SHOWN = new Set(Object.values(TYPES));

/**
 * Returns the type of a file by its extension, else the one that Messages has for it, if the page can show that type.
 */
export function typeOf(name: string, stored?: string | null): string | undefined {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  if (Object.hasOwn(TYPES, ending)) return TYPES[ending];
  return SHOWN.has(stored ?? '') ? (stored ?? undefined) : undefined;
}

/**
 * Returns an object URL of the attachment in a form that a browser can show. The service converts it if that is
 * necessary and possible.
 */
export async function addressOf(attachment: Attachment, pixels?: number, isByItself?: boolean): Promise<string> {
  const { at, bytes, type = '' } = attachment;
  const wanted = pixels === undefined ? 'm4a' : `jpeg&max=${pixels}`;
  const path = canConvert && needsConversion({ type, bytes }) ? `${at}?as=${wanted}` : at;
  const known = kept.get(path)?.address ?? loading.get(path);
  if (known !== undefined) return known;
  const made = load(path, attachment, isByItself).finally(() => loading.delete(path));
  loading.set(path, made);
  return made;
}

async function load(path: string, { at, type = '' }: Attachment, isByItself: boolean | undefined): Promise<string> {
  const answer = await bytesAt(path, { isByItself }).catch((error: unknown) => {
    if (statusOf(error) !== 501) throw error;
    canConvert = false;
    return bytesAt(at);
  });
  const made = URL.createObjectURL(new Blob([answer.bytes], { type: CONVERTED.has(answer.type) ? answer.type : type }));
  const { size } = answer.bytes;
  keptBytes += size;
  for (const [oldest, { address, size: freed }] of kept) {
    if (keptBytes <= KEPT_BYTES) break;
    kept.delete(oldest);
    keptBytes -= freed;
    URL.revokeObjectURL(address);
  }
  kept.set(path, { address: made, size });
  return made;
}

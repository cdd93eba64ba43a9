/**
 * MIME types of files that people send, each with its file extensions and with Apple's names for the type (UTIs).
 * Leaves out types that a browser would run as a page.
 */
const TYPES: readonly (readonly [type: string, extensions: string, utis: string])[] = [
  ['image/jpeg', 'jpg jpeg jpe', 'public.jpeg'],
  ['image/png', 'png', 'public.png'],
  ['image/gif', 'gif', 'com.compuserve.gif'],
  ['image/heic', 'heic', 'public.heic'],
  ['image/heif', 'heif', 'public.heif public.heif-standard'],
  ['image/heic-sequence', 'heics', 'public.heics'],
  ['image/avif', 'avif', 'public.avif'],
  ['image/webp', 'webp', 'org.webmproject.webp public.webp'],
  ['image/tiff', 'tif tiff', 'public.tiff'],
  ['image/bmp', 'bmp', 'com.microsoft.bmp'],
  ['video/quicktime', 'mov qt', 'com.apple.quicktime-movie'],
  ['video/mp4', 'mp4', 'public.mpeg-4'],
  ['video/x-m4v', 'm4v', 'com.apple.m4v-video'],
  ['video/3gpp', '3gp', 'public.3gpp'],
  ['video/3gpp2', '3g2', 'public.3gpp2'],
  ['audio/mp4', 'm4a', 'com.apple.m4a-audio public.mpeg-4-audio'],
  ['audio/x-caf', 'caf', 'com.apple.coreaudio-format'],
  ['audio/amr', 'amr', 'org.3gpp.adaptive-multi-rate-audio'],
  ['audio/mpeg', 'mp3', 'public.mp3'],
  ['audio/wav', 'wav', 'com.microsoft.waveform-audio'],
  ['audio/aiff', 'aif aiff aifc', 'public.aiff-audio public.aifc-audio'],
  ['audio/aac', 'aac', 'public.aac-audio'],
  ['text/vcard', 'vcf vcard', 'public.vcard'],
  ['text/x-vlocation', '', 'public.vlocation'],
  ['text/calendar', 'ics', 'com.apple.ical.ics'],
  ['text/plain', 'txt', 'public.plain-text public.utf8-plain-text'],
  ['text/csv', 'csv', 'public.comma-separated-values-text'],
  ['text/rtf', 'rtf', 'public.rtf'],
  ['application/json', 'json', 'public.json'],
  ['application/pdf', 'pdf', 'com.adobe.pdf'],
  ['application/zip', 'zip', 'public.zip-archive com.pkware.zip-archive'],
  ['application/x-tar', 'tar', 'public.tar-archive'],
  ['application/vnd.apple.pkpass', 'pkpass', 'com.apple.pkpass'],
  ['application/vnd.apple.keynote', 'key', 'com.apple.iwork.keynote.key com.apple.iwork.keynote.sffkey'],
  ['application/vnd.apple.pages', 'pages', 'com.apple.iwork.pages.pages com.apple.iwork.pages.sffpages'],
  ['application/vnd.apple.numbers', 'numbers', 'com.apple.iwork.numbers.numbers com.apple.iwork.numbers.sffnumbers'],
  ['application/msword', 'doc', 'com.microsoft.word.doc'],
  [
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'docx',
    'org.openxmlformats.wordprocessingml.document',
  ],
  [
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'xlsx',
    'org.openxmlformats.spreadsheetml.sheet',
  ],
  [
    'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    'pptx',
    'org.openxmlformats.presentationml.presentation',
  ],
  ['model/vnd.usdz+zip', 'usdz', 'com.pixar.universal-scene-description-mobile'],
];

const words = (text: string): readonly string[] => text.split(' ').filter(Boolean);
const BY_EXTENSION = new Map(
  TYPES.flatMap(([type, extensions]) => words(extensions).map((one) => [one, type] as const)),
);
const BY_UTI = new Map(TYPES.flatMap(([type, , utis]) => words(utis).map((one) => [one, type] as const)));
const UTIS = new Map(TYPES.map(([type, , utis]) => [type, words(utis)[0]]));

/** A stored type that says nothing. */
const ANY = 'application/octet-stream';

/** A media type without parameters, such as `codecs`. */
const WELL_FORMED = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/;

/**
 * Returns the MIME type of a file in lower case: the one that was stored, unless it is malformed or says nothing, else
 * that of its UTI, else that of the extension of the first name that has a known one. Null if none of them says what it
 * is.
 */
export function mediaTypeOf(stored: string, uti: string, ...names: readonly string[]): string | null {
  const [type = ''] = stored.toLowerCase().split(';', 1);
  const given = WELL_FORMED.test(type.trim()) ? type.trim() : null;
  if (given !== null && given !== ANY) return given;
  const byName = names.map((name) => BY_EXTENSION.get(/\.([a-z\d]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''));
  return BY_UTI.get(uti.trim().toLowerCase()) ?? byName.find((type) => type !== undefined) ?? given;
}

/** Returns Apple's name for a MIME type; null for a type that is not in the table. */
export function utiOf(type: string | null): string | null {
  return UTIS.get(type ?? '') ?? null;
}

/** Returns the given media type; `application/octet-stream` if it is missing or malformed. */
export function mediaType(given: string | null | undefined): string {
  return given != null && WELL_FORMED.test(given) ? given : ANY;
}

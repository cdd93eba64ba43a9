import type { AttachmentForm } from '../../domain/ports/reading.ts';

/** What a converter is given, by how its bytes begin, never by its name: the extension tells the converter. */
export interface SourceFormat {
  readonly kind: 'picture' | 'sound';
  readonly extension: string;
}

/** How many bytes tell it. */
export const HEAD_BYTES = 32;

/** undefined for everything that no converter is given: a playlist, for example, could name other files. */
export function formatOf(head: Buffer): SourceFormat | undefined {
  const text = head.toString('latin1');
  const brand = text.slice(4, 8) === 'ftyp' ? text.slice(8, 12) : '';
  if (/^(?:hei[cmsx]|hev[cmx]|mif1|msf1|avif)$/.test(brand)) return { kind: 'picture', extension: 'heic' };
  if (/^(?:M4A |M4B |mp4[12]|isom|qt {2}|3gp.)$/.test(brand)) return { kind: 'sound', extension: 'm4a' };
  if (text.startsWith('\xff\xd8\xff')) return { kind: 'picture', extension: 'jpg' };
  if (text.startsWith('\x89PNG\r\n')) return { kind: 'picture', extension: 'png' };
  if (/^GIF8[79]a/.test(text)) return { kind: 'picture', extension: 'gif' };
  if (/^(?:II\*\0|MM\0\*)/.test(text)) return { kind: 'picture', extension: 'tiff' };
  if (/^RIFF.{4}WEBP/s.test(text)) return { kind: 'picture', extension: 'webp' };
  if (text.startsWith('BM')) return { kind: 'picture', extension: 'bmp' };
  if (text.startsWith('caff')) return { kind: 'sound', extension: 'caf' };
  if (text.startsWith('#!AMR')) return { kind: 'sound', extension: 'amr' };
  if (/^RIFF.{4}WAVE/s.test(text)) return { kind: 'sound', extension: 'wav' };
  if (/^FORM.{4}AIF[FC]/s.test(text)) return { kind: 'sound', extension: 'aiff' };
  if (/^(?:ID3|\xff[\xe2-\xfb])/.test(text)) return { kind: 'sound', extension: 'mp3' };
  return undefined;
}

/** What comes of a conversion. */
export const RESULTS = {
  jpeg: { kind: 'picture', extension: 'jpg', mimeType: 'image/jpeg' },
  m4a: { kind: 'sound', extension: 'm4a', mimeType: 'audio/mp4' },
} as const;

/** The converter of macOS and its arguments. */
export function commandFor(form: AttachmentForm, source: string, target: string): readonly [string, readonly string[]] {
  if (form.as === 'm4a') return ['afconvert', ['-f', 'm4af', '-d', 'aac', source, target]];
  const size = form.max === undefined ? [] : ['-Z', String(form.max)];
  return ['sips', ['-s', 'format', 'jpeg', ...size, source, '--out', target]];
}

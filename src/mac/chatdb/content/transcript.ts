import { readBinaryPlist } from './binary-plist.ts';
import { readKeyedArchive } from './keyed-archive.ts';
import { textIn } from './members.ts';

/** Returns the transcript of a voice message from its attachment's `user_info`, a property list or a keyed archive. */
export function transcriptOf(userInfo: Uint8Array): string | undefined {
  const info = readBinaryPlist(userInfo);
  if (!(info instanceof Map)) return undefined;
  const stored = info.has('$archiver') ? readKeyedArchive(userInfo) : info;
  return stored instanceof Map ? textIn(stored, 'audio-transcription') : undefined;
}

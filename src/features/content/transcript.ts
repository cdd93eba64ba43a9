import { type RowBudget, readBinaryPlist, readKeyedArchive } from '../../core/chatdb/public.ts';

/** Returns the transcript of a voice message from its attachment's `user_info`, a property list or a keyed archive. */
export function transcriptOf(userInfo: Uint8Array, budget: RowBudget): string | undefined {
  const info = readBinaryPlist(userInfo, budget);
  if (!(info instanceof Map)) return undefined;
  const stored = info.has('$archiver') ? readKeyedArchive(userInfo, budget) : info;
  return stored instanceof Map ? budget.textIn(stored, 'audio-transcription') : undefined;
}

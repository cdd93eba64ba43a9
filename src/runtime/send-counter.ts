import { isAppError } from '../domain/errors.ts';
import type { SendAnswer } from '../domain/ports/sending.ts';
import type { Counters } from './counters.ts';

/** Counts what becomes of a send: how sure we are of it, or the code of its problem. */
export async function countedSend(sending: Promise<SendAnswer>, counters: Counters): Promise<SendAnswer> {
  try {
    const result = await sending;
    counters.sends.inc({ outcome: outcomeOf(result) });
    return result;
  } catch (error) {
    counters.sends.inc({ outcome: isAppError(error) ? error.code : 'internal_error' });
    throw error;
  }
}

function outcomeOf(answer: SendAnswer): string {
  if ('would' in answer) return 'dry_run';
  if ('held' in answer) return 'held';
  if (answer.replayed) return 'replayed';
  return answer.confirmed ? 'confirmed' : 'provisional';
}

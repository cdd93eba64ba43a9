import { problemCode } from '../model/errors.ts';
import type { SendAnswer } from '../model/ports/sending-ports.ts';
import type { Counters } from './counters.ts';

/** Counts a send by its outcome: `confirmed`, `provisional`, `held` and so on, or the code of its problem. */
export async function countedSend(sending: Promise<SendAnswer>, counters: Counters): Promise<SendAnswer> {
  try {
    const result = await sending;
    counters.sends.inc({ outcome: outcomeOf(result) });
    return result;
  } catch (error) {
    counters.sends.inc({ outcome: problemCode(error) });
    throw error;
  }
}

function outcomeOf(answer: SendAnswer): string {
  if (answer.kind === 'deferred') return answer.deferred.told.state;
  if (answer.kind !== 'sent') return answer.kind;
  if (answer.replayed) return 'replayed';
  return answer.confirmed ? 'confirmed' : 'provisional';
}

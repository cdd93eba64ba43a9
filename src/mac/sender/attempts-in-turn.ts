import type { Attempt, Content, MessagesApp, RunOutcome } from '../../domain/ports/sending.ts';
import { leadsToNext, liveAttempt, type Plan } from './attempts.ts';
import { NOT_RUNNING } from './failure.ts';

export interface AttemptsOptions {
  readonly messages: MessagesApp;
  readonly plan: Plan;
  readonly content: Content;
  readonly signal: AbortSignal;
  /** Called just before each run of osascript; what it throws ends the attempts. */
  readonly onAttempt: (attempt: Attempt) => void;
}

const NO_WAY: RunOutcome = { kind: 'failed', number: -1728, message: '' };

/** Makes the attempts of a plan one after the other, until one ends otherwise than with "nothing was sent" (decision T1). */
export async function attemptInTurn(options: AttemptsOptions): Promise<RunOutcome> {
  const { messages, plan, content, signal, onAttempt } = options;
  let isOpened = false;
  const run = async (attempt: Attempt): Promise<RunOutcome> => {
    if (signal.aborted) return { kind: 'killed' };
    onAttempt(attempt);
    const outcome = await messages.run({ ...attempt, content }, signal);
    if (isOpened || outcome.kind !== 'failed' || outcome.number !== NOT_RUNNING) return outcome;
    // Certainly nothing was sent: once more, when Messages is up (decision D2).
    isOpened = true;
    await messages.open(signal);
    if (signal.aborted) return outcome;
    onAttempt(attempt);
    return messages.run({ ...attempt, content }, signal);
  };

  let outcome: RunOutcome = NO_WAY;
  for (const attempt of plan.attempts) {
    outcome = await run(attempt);
    if (!leadsToNext(outcome)) return outcome;
  }
  if (plan.liveChat === null || signal.aborted) return outcome;
  const last = liveAttempt(plan, await messages.liveChatIds(signal));
  return last === undefined ? outcome : run(last);
}

import type { ScheduledSend, ScheduledState } from '../../client/scheduled-types.ts';

export {
  SCHEDULED_SOURCES,
  SCHEDULED_STATES,
  type ScheduledSend,
  type ScheduledSource,
  type ScheduledState,
} from '../../client/scheduled-types.ts';

/** For each state, a sentence that says why a message in that state cannot be cancelled. */
export const TOO_LATE: Readonly<Record<Exclude<ScheduledState, 'scheduled'>, string>> = {
  sending: 'This message cannot be cancelled any more: it is being sent.',
  sent: 'This message cannot be cancelled any more: it was sent.',
  failed: 'There is nothing to cancel: this message could not be sent.',
  unknown: 'This message cannot be cancelled any more: it may have been sent.',
  missed: 'There is nothing to cancel: this message was not sent, because its time passed.',
  cancelled: 'This message was already cancelled: it will not be sent.',
};

/** Reports whether the state is final. */
export function isOver({ state }: Pick<ScheduledSend, 'state'>): boolean {
  return state !== 'scheduled' && state !== 'sending';
}

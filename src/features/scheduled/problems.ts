import { type MakeProblem, problemsOf } from '../../core/model/problems.ts';

/** The problems that only scheduled sends have. Key: the problem's name. */
export const SCHEDULED_PROBLEMS = {
  too_many_scheduled: {
    status: 429,
    detail: 'This key already has {max} scheduled messages.',
    hint: 'Nothing was scheduled. Cancel some, or wait until they have gone out.',
    example: { max: 500 },
  },
  scheduled_not_found: { status: 404, detail: 'There is no scheduled message with this id.' },
  scheduled_on_phone: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'This message was scheduled in Messages, which will send it itself.',
    hint: 'Cancel it in Messages, on any of your devices.',
  },
  too_late: {
    status: 409,
    mayHaveBeenSent: false,
    detail: '{why}',
    example: { why: 'This message cannot be cancelled any more: it is being sent.' },
  },
} as const;

export const scheduledProblem: MakeProblem<typeof SCHEDULED_PROBLEMS> = problemsOf(SCHEDULED_PROBLEMS);

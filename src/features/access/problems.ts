import { type MakeProblem, problemsOf } from '../../core/model/problems.ts';

/** The problems of limited keys and approvals (decisions L1 to L3). Key: the problem's name. */
export const ACCESS_PROBLEMS = {
  send_denied: {
    status: 403,
    detail: 'The owner of Postern decided not to send this message.',
    hint: 'Nothing was sent. Do not send it again.',
  },
  key_not_found: { status: 404, detail: 'There is no key with this id.' },
  approval_not_found: { status: 404, detail: 'There is no approval with this id.' },
  too_many_keys: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'There are {max} keys already.',
    hint: 'Revoke one that is no longer needed.',
    example: { max: 1000 },
  },
  already_decided: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'This message no longer waits for a decision: its state is {state}.',
    hint: 'Read the approval again. To send it after all, send it with a new Idempotency-Key.',
    example: { state: 'denied' },
  },
  approval_changed: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'The content to be sent is not the content that was shown.',
    hint: 'Read the approval again, then decide with its current `shown`.',
  },
  approval_expired: {
    status: 410,
    detail: 'Nobody decided on this message in time.',
    hint: 'Nothing was sent. Repeat the request to ask the owner again.',
  },
  cap_reached: {
    status: 429,
    detail: 'This key has sent as much as it may {window}: try again in {seconds} s.',
    hint: 'Nothing was sent. The owner of Postern decides how much a key may send.',
    example: { window: 'in a minute', seconds: 42 },
  },
  too_many_held: {
    status: 429,
    detail: 'This key already has {max} messages waiting for a decision.',
    hint: 'Nothing was sent. Wait until the owner has decided on some of the waiting messages.',
    example: { max: 20 },
  },
} as const;

export const accessProblem: MakeProblem<typeof ACCESS_PROBLEMS> = problemsOf(ACCESS_PROBLEMS);

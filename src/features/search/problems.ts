import { type MakeProblem, problemsOf } from '../../core/model/problems.ts';

/** The problems that only search has. Key: the problem's name. */
export const SEARCH_PROBLEMS = {
  search_disabled: {
    status: 404,
    detail: 'Search is switched off.',
    hint: 'Set search.enabled = true in config.toml and start Postern again, which then indexes all messages.',
  },
  search_unavailable: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'Search is not working: {reason}.',
    hint: 'The status of the service shows the state of the index.',
    example: { reason: 'the disk is full' },
  },
} as const;

export const searchProblem: MakeProblem<typeof SEARCH_PROBLEMS> = problemsOf(SEARCH_PROBLEMS);

import { type MakeProblem, problemsOf } from '../../core/model/problems.ts';

/** The problems of signing in to the console. Key: the problem's name. */
export const CONSOLE_PROBLEMS = {
  sign_in_code_wrong: {
    status: 403,
    detail: 'This sign-in code is wrong, was used already, or is older than 60 seconds.',
    hint: '"postern open" makes another one.',
  },
  socket_required: {
    status: 403,
    detail: 'Sign-in codes are made only over the Unix socket.',
    hint: '"postern open" makes one. To sign in without a code, enter the key in the console.',
  },
} as const;

export const consoleProblem: MakeProblem<typeof CONSOLE_PROBLEMS> = problemsOf(CONSOLE_PROBLEMS);

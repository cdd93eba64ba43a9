import { type MakeProblem, problemsOf } from '../../core/model/problems.ts';

/** The problems that only contacts and people have. Key: the problem's name. */
export const CONTACT_PROBLEMS = {
  person_not_found: {
    status: 404,
    detail: 'There is no person with this id.',
    hint: 'The list of people shows the ids; they change when cards in Contacts change.',
  },
  contacts_disabled: {
    status: 404,
    detail: 'Names of people are switched off.',
    hint: 'Set contacts.enabled = true in config.toml and start Postern again.',
  },
} as const;

export const contactProblem: MakeProblem<typeof CONTACT_PROBLEMS> = problemsOf(CONTACT_PROBLEMS);

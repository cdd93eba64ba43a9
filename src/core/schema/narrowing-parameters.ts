import * as z from 'zod';
import { LEAST_AGE_S, type Narrowing } from '../model/narrowing.ts';
import { flagParameter } from './query-parameters.ts';

const AGE_RANGE = `a whole number of seconds, ${LEAST_AGE_S} or more`;
const MAX_AGE_ERROR = `\`max_age_s\` must be ${AGE_RANGE}.`;

export const MAX_AGE_MISTAKE = { pointer: '?max_age_s', message: `The parameter ${MAX_AGE_ERROR}` };

const DESCRIPTIONS: Readonly<Record<keyof Narrowing, string>> = {
  max_age_s:
    'Skips rows that arrived more than this many seconds after they were written. Time during which the service was down ' +
    'or the Mac slept does not count, nor does the time between arrival and delivery.',
  junk: 'false: skips what macOS filed as junk, and conversations that Messages hides. true, the default: skips none.',
  include_hidden:
    'true: includes hidden messages, those that Postern wrote to test itself. false, the default: leaves them out.',
};

/** The parameters by which readers of events skip some (decisions B14, U4, V5, AB4). Lists have some of them. */
export const narrowingParameters = {
  max_age_s: z
    .string()
    .refine((value) => /^\d{1,15}$/.test(value) && Number(value) >= LEAST_AGE_S, MAX_AGE_MISTAKE.message)
    .transform(Number)
    .optional()
    .meta({ type: 'integer', minimum: LEAST_AGE_S, description: DESCRIPTIONS.max_age_s }),
  junk: flagParameter('junk', DESCRIPTIONS.junk),
  include_hidden: flagParameter('include_hidden', DESCRIPTIONS.include_hidden),
} satisfies Record<keyof Narrowing, z.ZodType>;

/** The members of a webhook's filter that skip the same. */
export const narrowingMembers = {
  max_age_s: z
    .int({ error: MAX_AGE_ERROR })
    .min(LEAST_AGE_S, { error: MAX_AGE_ERROR })
    .optional()
    .meta({ description: DESCRIPTIONS.max_age_s }),
  junk: flagMember('junk'),
  include_hidden: flagMember('include_hidden'),
} satisfies Record<keyof Narrowing, z.ZodType>;

function flagMember(name: keyof Narrowing) {
  const error = `\`${name}\` must be true or false.`;
  return z.boolean({ error }).optional().meta({ description: DESCRIPTIONS[name] });
}

import * as z from 'zod';
import type { Person } from '../domain/ports/people.ts';
import { includeParameter } from './include.ts';
import { limit } from './query.ts';
import { shapeOf } from './shape.ts';

/** One item of `GET /people` (decision V4). */
export const personSchema = shapeOf<Person>()(
  z
    .object({
      id: z.string().meta({
        description: 'Made of the smallest address. It may change when cards do, and another key may see another id.',
      }),
      name: z.string().nullable().meta({ description: 'From Contacts; null when no card has the address.' }),
      addresses: z
        .array(z.string())
        .readonly()
        .meta({ description: 'Every address of the person, in order. A send takes one of them.' }),
      conversations: z.array(z.string()).readonly().meta({ description: 'Ids of the one-to-one conversations.' }),
      ambiguous: z
        .array(
          z.object({
            address: z.string(),
            names: z.array(z.string()).readonly().meta({ description: 'Names of the cards, at most 10.' }),
          }),
        )
        .readonly()
        .optional()
        .meta({
          description:
            'Addresses that are on cards of different names. They join nobody; what was written there is listed as ' +
            'a person without a name. Left out when there are none.',
        }),
    })
    .meta({ id: 'Person' }),
);

/** Parameters of `GET /people`. */
export const peopleQuery = z.object({
  q: z.string().max(200, 'The parameter q may have at most 200 characters.').default('').meta({
    description: 'Words that all occur in the name or the addresses. Everybody if absent.',
  }),
  limit: limit(50, 200),
});

/** Parameters of `GET /people/{id}/messages`. */
export const personMessagesQuery = z.object({
  limit: limit(50, 200),
  cursor: z.string().optional().meta({ description: 'From a Link header.' }),
  include: includeParameter,
});

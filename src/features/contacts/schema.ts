import * as z from 'zod';
import type { Contact, Person } from '../../client/people-types.ts';
import { includeParameter } from '../../core/schema/include-parameter.ts';
import { limit } from '../../core/schema/query-parameters.ts';
import { shapeOf } from '../../core/schema/shape.ts';
import type { ContactsHealth } from './ports.ts';

/** One item of `GET /people` (decision V4). */
export const personSchema = shapeOf<Person>()(
  z
    .object({
      id: z.string().meta({
        description:
          'Derived from the smallest address. It can change with the cards in Contacts, and differs between keys.',
      }),
      name: z
        .string()
        .nullable()
        .meta({ description: "From Contacts; null if none of the person's cards has a name." }),
      addresses: z
        .array(z.string())
        .readonly()
        .meta({ description: 'Every address of the person. A send accepts any of them.' }),
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
            'Addresses that are on cards with different names. They are not used to join people. Conversations with ' +
            'these addresses belong to a person without a name. Absent if there are none.',
        }),
    })
    .meta({ id: 'Person' }),
);

/** Parameters of `GET /people`. */
export const peopleQuery = z.object({
  q: z.string().max(200, 'The parameter `q` may have at most 200 characters.').default('').meta({
    description: 'Words that all occur in the name or the addresses. Everyone if absent.',
  }),
  limit: limit(50, 200),
});

/** Parameters of `GET /people/{id}/messages`. */
export const personMessagesQuery = z.object({
  limit: limit(50, 200),
  cursor: z.string().optional().meta({ description: 'From a `Link` header.' }),
  include: includeParameter,
});

/** One item of `GET /contacts` (decision K2). */
export const contactSchema = shapeOf<Contact>()(
  z
    .object({
      name: z.string(),
      addresses: z.array(z.string()).readonly().meta({
        description: 'Complete numbers as `+15550100`, other numbers as written, e-mail addresses in lower case.',
      }),
      nickname: z.string().nullable(),
      organization: z.string().nullable(),
    })
    .meta({ id: 'Contact' }),
);

/** Parameters of `GET /contacts`. */
export const contactQuery = z.object({
  q: z.string().max(200, 'The parameter `q` may have at most 200 characters.').default('').meta({
    description: 'Words that all occur in the name, nickname, organization or addresses. Everyone if absent.',
  }),
  limit: limit(50, 200),
});

/** The state of the Address Book, as `GET /status` reports it. */
export const contactsHealthSchema = shapeOf<ContactsHealth>()(
  z.object({
    state: z.enum(['off', 'not_loaded', 'loaded', 'failed']),
    message: z.string().nullable().meta({ description: 'Why names are missing; null if no name is missing.' }),
  }),
).meta({ description: 'State of the names of people; absent until a client first asks for names.' });

import * as z from 'zod';
import type { Contact, ContactsHealth } from '../model/ports/contacts-ports.ts';
import { limit } from './query-parameters.ts';
import { shapeOf } from './shape.ts';

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
);

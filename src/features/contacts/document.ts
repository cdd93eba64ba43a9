import type { Contact, Person } from '../../client/people-types.ts';
import { examples } from '../../core/http/openapi/examples.ts';
import { CHAT_DB, LIMIT_MISTAKE, onePage } from '../../core/http/openapi/operation.ts';
import type { ResourceDocument } from '../../core/http/resource.ts';
import { INCLUDE_MISTAKE } from '../../core/schema/include-parameter.ts';
import {
  contactQuery,
  contactSchema,
  contactsHealthSchema,
  peopleQuery,
  personMessagesQuery,
  personSchema,
} from './schema.ts';

const contact: Contact = {
  name: 'Ana Silva',
  addresses: ['+15550100', 'ana@example.com'],
  nickname: null,
  organization: null,
};
const person: Person = {
  id: '3f8a1c0e5b7d2946',
  name: 'Ana Silva',
  addresses: ['+15550100', 'ana@example.com'],
  conversations: ['any;-;+15550100', 'any;-;ana@example.com'],
};

/** Contacts and people in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    listContacts: {
      tag: 'Contacts',
      summary: 'People of the Address Book, by name',
      description:
        'People whose name or addresses contain each word of `q`, by name. ' +
        'A send takes an address or a conversation id, never a name: choose one of the addresses.',
      query: contactQuery,
      answers: {
        200: { description: 'The people that match.', schema: 'Contact', isList: true, example: [contact] },
      },
      problems: ['contacts_disabled'],
      mistakes: [LIMIT_MISTAKE],
    },
    listPeople: {
      tag: 'Contacts',
      summary: 'People you have conversations with, by name',
      description:
        'Each person once, with every address and every one-to-one conversation. Addresses belong together when they are ' +
        'on one card of Contacts, on linked cards, or on cards with the same name that share an address. An address on cards ' +
        'with different names connects no cards and is listed as `ambiguous`.',
      query: peopleQuery,
      answers: {
        200: { description: 'The people that match.', schema: 'Person', isList: true, example: [person] },
      },
      problems: [...CHAT_DB],
      mistakes: [LIMIT_MISTAKE],
    },
    listPersonMessages: {
      tag: 'Contacts',
      summary: 'Messages of a person from all addresses, newest first',
      description:
        'The messages of all one-to-one conversations with the person, in one list. `Link` has the URL of the next page. ' +
        'To reply, send to one of the addresses: a person cannot be a recipient.',
      query: personMessagesQuery,
      answers: onePage('Message', examples.received),
      problems: ['person_not_found', 'invalid_cursor', ...CHAT_DB],
      mistakes: [LIMIT_MISTAKE, INCLUDE_MISTAKE],
    },
  },
  schemas: { Contact: contactSchema, Person: personSchema },
  status: contactsHealthSchema,
};

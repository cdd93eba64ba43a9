import { contactQuery } from '../../schema/contacts-schema.ts';
import {
  conversationAttachmentsQuery,
  conversationQuery,
  singleConversationQuery,
} from '../../schema/conversation-request.ts';
import { INCLUDE_MISTAKE } from '../../schema/include-parameter.ts';
import { peopleQuery, personMessagesQuery } from '../../schema/people-schema.ts';
import { examples } from './examples.ts';
import { CHAT_DB, NEXT, NEXT_OF_MACS, type Operation } from './operation.ts';

/** The operations for conversations, contacts and people. */
export const CONVERSATION_OPERATIONS = {
  listConversations: {
    tag: 'Conversations',
    summary: 'Conversations, most recent first',
    description:
      'One-to-one conversations and groups, the most recent first; `Link` has the URL of the next page. With `cursor=` ' +
      'no page repeats a conversation: one that gets a message meanwhile moves to the first page. ' +
      '`include=details` adds the unread count and the last message, `include=contacts` the names of people. ' +
      '`q` finds conversations by name, number or group.',
    query: conversationQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: 'Conversation',
        isList: true,
        example: [examples.conversation],
        headers: NEXT_OF_MACS,
      },
    },
    problems: ['invalid_cursor', ...CHAT_DB],
    mistakes: [
      { pointer: '?limit', message: 'The parameter `limit` must be a whole number, 1 or more.' },
      INCLUDE_MISTAKE,
    ],
  },
  getConversation: {
    tag: 'Conversations',
    summary: 'One conversation, by any variant of its id',
    description:
      'One conversation with its name and its participants. ' +
      'Any variant of the chat guid works as the id, such as `iMessage;-;+15550100` for `any;-;+15550100`.',
    query: singleConversationQuery,
    answers: { 200: { description: 'The conversation.', schema: 'Conversation', example: examples.conversation } },
    problems: ['conversation_not_found', ...CHAT_DB],
    mistakes: [INCLUDE_MISTAKE],
  },
  listConversationAttachments: {
    tag: 'Conversations',
    summary: 'Attachments of a conversation, newest first',
    description:
      'The attachments of all messages, with the ids of the messages. `limit` counts messages, not ' +
      'attachments, so a page can have more items. `Link` has the URL of the next page.',
    query: conversationAttachmentsQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: 'ListedAttachment',
        isList: true,
        example: [examples.listedAttachment],
        headers: NEXT,
      },
    },
    problems: ['conversation_not_found', 'invalid_cursor', ...CHAT_DB],
    mistakes: [{ pointer: '?limit', message: 'The parameter `limit` must be a whole number, 1 or more.' }],
  },
  listContacts: {
    tag: 'Contacts',
    summary: 'People of the Address Book, by name',
    description:
      'People whose name or addresses contain each word of `q`, by name. ' +
      'A send takes an address or a conversation id, never a name: choose one of the addresses.',
    query: contactQuery,
    answers: {
      200: { description: 'The people that match.', schema: 'Contact', isList: true, example: [examples.contact] },
    },
    problems: ['contacts_disabled'],
    mistakes: [{ pointer: '?limit', message: 'The parameter `limit` must be a whole number, 1 or more.' }],
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
      200: { description: 'The people that match.', schema: 'Person', isList: true, example: [examples.person] },
    },
    problems: [...CHAT_DB],
    mistakes: [{ pointer: '?limit', message: 'The parameter `limit` must be a whole number, 1 or more.' }],
  },
  listPersonMessages: {
    tag: 'Contacts',
    summary: 'Messages of a person from all addresses, newest first',
    description:
      'The messages of all one-to-one conversations with the person, in one list. `Link` has the URL of the next page. ' +
      'To reply, send to one of the addresses: a person cannot be a recipient.',
    query: personMessagesQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: 'Message',
        isList: true,
        example: [examples.received],
        headers: NEXT,
      },
    },
    problems: ['person_not_found', 'invalid_cursor', ...CHAT_DB],
    mistakes: [
      { pointer: '?limit', message: 'The parameter `limit` must be a whole number, 1 or more.' },
      INCLUDE_MISTAKE,
    ],
  },
} as const satisfies Record<string, Operation>;

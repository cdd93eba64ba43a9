import { contactQuery } from '../../schema/contacts.ts';
import { conversationQuery, singleConversationQuery } from '../../schema/conversation.ts';
import { INCLUDE_MISTAKE } from '../../schema/include.ts';
import { examples } from './examples.ts';
import { CHAT_DB, NEXT_OF_MACS, type Operation } from './operation.ts';

/** Conversations, and the contacts in them. */
export const CONVERSATION_OPERATIONS = {
  listConversations: {
    tag: 'Conversations',
    summary: 'Conversations, most recent first',
    description:
      'One-to-one conversations and groups, those with the newest message first; `Link` has the URL of the next page. ' +
      '`include=details` adds the unread count and the last message, `include=contacts` the names of people.',
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
    problems: [...CHAT_DB],
    mistakes: [{ pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' }, INCLUDE_MISTAKE],
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
  listContacts: {
    tag: 'Contacts',
    summary: 'People of the Address Book, by name',
    description:
      'People in whom each word of `q` occurs, by name. ' +
      'A send takes an address or a conversation id, never a name: choose one of the addresses.',
    query: contactQuery,
    answers: {
      200: { description: 'Those that match.', schema: 'Contact', isList: true, example: [examples.contact] },
    },
    problems: ['contacts_disabled'],
    mistakes: [{ pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' }],
  },
} as const satisfies Record<string, Operation>;

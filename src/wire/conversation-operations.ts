import { contactQuery } from './contacts.ts';
import { conversationQuery, singleConversationQuery } from './conversation.ts';
import { examples } from './examples.ts';
import { INCLUDE_MISTAKE } from './include.ts';
import { CHAT_DB, NEXT, type Operation } from './operation.ts';

/** Conversations, and the contacts in them. */
export const CONVERSATION_OPERATIONS = {
  listConversations: {
    tag: 'Conversations',
    summary: 'Conversations, most recent first',
    query: conversationQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: 'Conversation',
        isList: true,
        example: [examples.conversation],
        headers: NEXT,
      },
    },
    problems: [...CHAT_DB],
    mistakes: [{ pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' }, INCLUDE_MISTAKE],
  },
  getConversation: {
    tag: 'Conversations',
    summary: 'One conversation, by any variant of its id',
    query: singleConversationQuery,
    answers: { 200: { description: 'The conversation.', schema: 'Conversation', example: examples.conversation } },
    problems: ['conversation_not_found', ...CHAT_DB],
    mistakes: [INCLUDE_MISTAKE],
  },
  listContacts: {
    tag: 'Contacts',
    summary: 'People of the Address Book, by name',
    description: 'A send takes an address or a conversation id, never a name: choose one of the addresses.',
    query: contactQuery,
    answers: {
      200: { description: 'Those that match.', schema: 'Contact', isList: true, example: [examples.contact] },
    },
    problems: ['contacts_disabled'],
    mistakes: [{ pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' }],
  },
} as const satisfies Record<string, Operation>;

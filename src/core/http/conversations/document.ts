import { conversationDetailsSchema } from '../../schema/details-schema.ts';
import { INCLUDE_MISTAKE } from '../../schema/include-parameter.ts';
import { examples } from '../openapi/examples.ts';
import { CHAT_DB, LIMIT_MISTAKE, onePage } from '../openapi/operation.ts';
import type { ResourceDocument } from '../resource.ts';
import { conversationSchema } from './answers.ts';
import { conversationAttachmentsQuery, conversationQuery, singleConversationQuery } from './schema.ts';

/** Conversations in the documents of the API. */
export const DOCUMENT = {
  operations: {
    listConversations: {
      tag: 'Conversations',
      summary: 'Conversations, most recent first',
      description:
        'One-to-one conversations and groups, the most recent first; `Link` has the URL of the next page. With `cursor=` ' +
        'no page repeats a conversation: one that gets a message meanwhile moves to the first page. ' +
        '`include=details` adds the unread count and the last message, `include=contacts` the names of people. ' +
        '`q` finds conversations by name, number or group.',
      query: conversationQuery,
      answers: onePage('Conversation', examples.conversation),
      problems: ['invalid_cursor', ...CHAT_DB],
      mistakes: [LIMIT_MISTAKE, INCLUDE_MISTAKE],
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
      answers: onePage('ListedAttachment', examples.listedAttachment),
      problems: ['conversation_not_found', 'invalid_cursor', ...CHAT_DB],
      mistakes: [LIMIT_MISTAKE],
    },
  },
  schemas: {
    Conversation: conversationSchema,
    ConversationDetails: conversationDetailsSchema,
  },
} as const satisfies ResourceDocument;

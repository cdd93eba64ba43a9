import { INCLUDE_MISTAKE } from '../../schema/include-parameter.ts';
import { messageSchema } from '../../schema/message-schema.ts';
import { examples } from '../openapi/examples.ts';
import { CHAT_DB, LIMIT_MISTAKE, MADE, onePage, SENDING, STATE_DB } from '../openapi/operation.ts';
import type { ResourceDocument } from '../resource.ts';
import { dryRunSchema } from './answers.ts';
import { messageQuery, sendBody, singleMessageQuery } from './schema.ts';

/** The form that sends a message. Fields that a form may repeat are arrays. */
const SEND_FORM = {
  'multipart/form-data': {
    type: 'object',
    properties: {
      recipient: { type: 'string' },
      body: { type: 'string' },
      file: { type: 'array', items: { type: 'string', format: 'binary' } },
      attachment_ids: { type: 'array', items: { type: 'string' } },
      attachments: { type: 'array', items: { type: 'string' } },
    },
    required: ['recipient'],
  },
};

/** Messages in the documents of the API. */
export const DOCUMENT = {
  operations: {
    listMessages: {
      tag: 'Messages',
      summary: 'Messages, newest first',
      description:
        'All messages, or those of one conversation with `conversation_id`, newest first; `Link` has the URL of the next page. ' +
        '`since` keeps only messages after an instant, and `order=asc` begins with the oldest. ' +
        'Reactions are not messages: they are events, and part of the `details` of their message.',
      query: messageQuery,
      answers: onePage('Message', examples.received),
      problems: ['invalid_cursor', ...CHAT_DB],
      mistakes: [LIMIT_MISTAKE, INCLUDE_MISTAKE],
    },
    sendMessage: {
      tag: 'Messages',
      summary: 'Send a message',
      description:
        'Sends are strictly serial. Each part (the text, then each attachment) is handed to Messages in turn. Files are on the host ' +
        '(`attachments`), were uploaded (`attachment_ids`), or come with the message as a form (`multipart/form-data`).',
      headers: [
        {
          name: 'Idempotency-Key',
          in: 'header',
          description:
            'Within 24 hours, a repeat with the same key and body is not sent again; its answer is the outcome of the first request.',
          schema: { type: 'string', minLength: 1, maxLength: 255 },
        },
      ],
      body: { schema: sendBody, example: { recipient: '+15550100', body: 'On my way' } },
      files: SEND_FORM,
      answers: {
        200: { description: 'A dry run: what would happen.', schema: 'DryRun', example: examples.dryRun },
        201: {
          description: 'Sent, and its row was found in chat.db.',
          schema: 'Message',
          example: examples.sent,
          headers: MADE,
        },
        202: {
          description:
            'Handed to Messages, but its row is not in chat.db yet; or taken over, to be sent later or once the owner agrees.',
          schema: 'AcceptedSend',
          examples: {
            provisional: { summary: 'Handed to Messages', value: examples.provisional },
          },
        },
      },
      problems: [
        'recipient_not_allowed',
        'attachment_not_allowed',
        'send_later_unavailable',
        'upload_not_found',
        'invalid_form',
        'form_too_large',
        'upload_too_large',
        'storage_full',
        'too_many_uploads',
        'send_in_progress',
        'send_interrupted',
        'send_never_appeared',
        'attachment_changed',
        'recipient_is_name',
        'unknown_conversation',
        'service_not_possible',
        'idempotency_key_reused',
        ...SENDING,
        ...STATE_DB,
      ],
      mistakes: [
        { pointer: '/recipient', message: '`recipient` must not be blank.' },
        { pointer: '/body', message: '`body` is missing.' },
      ],
    },
    getMessage: {
      tag: 'Messages',
      summary: 'One message',
      description:
        'One message by its row id, the `id` of a list or an event. ' +
        '`include=details` adds receipts, edits, the message it replies to, and its reactions. ' +
        'The answer for the id of a reaction is 404.',
      query: singleMessageQuery,
      answers: { 200: { description: 'The message.', schema: 'Message', example: examples.received } },
      problems: ['message_not_found', ...CHAT_DB],
      mistakes: [INCLUDE_MISTAKE],
    },
  },
  schemas: {
    DryRun: dryRunSchema,
    Message: messageSchema,
    SendRequest: sendBody,
  },
} as const satisfies ResourceDocument;

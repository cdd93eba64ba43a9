import { attachmentQuery } from '../../schema/attachment-request.ts';
import { INCLUDE_MISTAKE } from '../../schema/include-parameter.ts';
import { messageQuery, sendBody, singleMessageQuery } from '../../schema/message-request.ts';
import { examples } from './examples.ts';
import { CHAT_DB, MADE, NEXT_OF_MACS, type Operation, SENDING, STATE_DB } from './operation.ts';

const RANGE = {
  name: 'Range',
  in: 'header',
  description: 'One range of bytes, as in `bytes=0-1023`.',
  schema: { type: 'string' },
};

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

/** The operations that read and send messages. */
export const MESSAGE_OPERATIONS = {
  listMessages: {
    tag: 'Messages',
    summary: 'Messages, newest first',
    description:
      'All messages, or those of one conversation with `conversation_id`, newest first; `Link` has the URL of the next page. ' +
      '`since` keeps only messages after an instant, and `order=asc` begins with the oldest. ' +
      'Reactions are not messages: they are events, and part of the `details` of their message.',
    query: messageQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: 'Message',
        isList: true,
        example: [examples.received],
        headers: NEXT_OF_MACS,
      },
    },
    problems: ['invalid_cursor', ...CHAT_DB],
    mistakes: [
      { pointer: '?limit', message: 'The parameter `limit` must be a whole number, 1 or more.' },
      INCLUDE_MISTAKE,
    ],
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
      'no_room_for_upload',
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
  getAttachment: {
    tag: 'Messages',
    summary: 'The bytes of an attachment, counted from 0; supports ranges',
    description:
      'Streams the n-th file of `attachments`, counted from 0; one `Range` per request is supported. ' +
      '`as` converts a file that browsers do not show or play; the answer is 501 if this machine has no converter for it. ' +
      'For a file that is only in iCloud the answer is 404, and 409 with `as`: open the conversation in Messages to download it.',
    query: attachmentQuery,
    headers: [RANGE],
    answers: {
      200: { description: 'The whole file, in its own type.', type: '*/*' },
      206: { description: 'The requested range.', type: '*/*' },
    },
    problems: [
      'attachment_not_found',
      'not_on_this_mac',
      'range_not_satisfiable',
      'conversion_unavailable',
      'conversion_busy',
      ...CHAT_DB,
    ],
    mistakes: [{ pointer: '?as', message: 'The parameter `as` must be "jpeg" or "m4a".' }],
  },
} as const satisfies Record<string, Operation>;

/** The operation that accepts files from another machine. */
export const UPLOAD_OPERATIONS = {
  uploadAttachment: {
    tag: 'Messages',
    summary: 'Upload a file to send',
    description:
      'Takes the bytes of a file, with its name in `Content-Disposition`, or a form (`multipart/form-data`) with one file: at most 100 MB, within 10 minutes. ' +
      'The `id` goes into `attachment_ids` of `POST /messages`, with the same key. ' +
      'The file is kept until it is sent, at most 24 hours; all uploads together take at most 1 GB.',
    headers: [
      {
        name: 'Content-Disposition',
        in: 'header',
        description:
          'The name, as in `attachment; filename="photo.jpg"`; also `filename*=UTF-8\'\'…`. ' +
          'Leave this header out with a form.',
        schema: { type: 'string' },
      },
    ],
    answers: {
      201: {
        description: 'The upload, which can be sent now.',
        schema: 'Upload',
        example: {
          id: '3f2a6c1e-0d5b-4f7a-9c8e-2b1d4a6f8e01',
          name: 'photo.jpg',
          mime_type: 'image/jpeg',
          bytes: 2_400_000,
          expires_at: '2026-02-01T09:30:00Z',
        },
      },
    },
    files: {
      '*/*': { type: 'string', format: 'binary' },
      'multipart/form-data': {
        type: 'object',
        properties: { file: { type: 'string', format: 'binary' } },
        required: ['file'],
      },
    },
    problems: [
      'incomplete_body',
      'invalid_form',
      'request_timeout',
      'upload_too_large',
      'form_too_large',
      'upload_encoded',
      'too_many_uploads',
      'shutting_down',
      'no_room_for_upload',
    ],
    mistakes: [
      {
        pointer: 'Content-Disposition',
        message:
          'The name of the file is missing. Send it in a header: `Content-Disposition: attachment; filename="photo.jpg"`.',
      },
    ],
  },
} as const satisfies Record<string, Operation>;

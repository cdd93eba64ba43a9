import type { SelfChatRecord } from '../../client/access-types.ts';
import { CHAT_DB, SENDING, STATE_DB } from '../../core/http/openapi/operation.ts';
import type { ResourceDocument } from '../../core/http/resource.ts';
import { proveBody, selfChatSchema } from './schema.ts';

const example: SelfChatRecord = {
  address: 'me@example.com',
  conversation_id: 'any;-;me@example.com',
  proved_at: '2026-01-30T18:05:00Z',
};

/** The proof of the self-chat in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    getSelfChat: {
      tag: 'Approvals',
      summary: 'The conversation with yourself in which you decide by tapback',
      description:
        'The conversation in which held sends are shown to you, and in which your tapbacks decide. ' +
        '`proved_at` is null until you have proved that it is yours.',
      answers: { 200: { description: 'The conversation.', schema: 'SelfChat', example: example } },
      problems: ['self_chat_disabled', ...CHAT_DB],
    },
    sendSelfChatCode: {
      tag: 'Approvals',
      summary: 'Send a code to the conversation with yourself',
      description:
        'Sends a message with six digits to the address in `self.address` of config.toml. ' +
        'Pass them to `POST /self-chat/prove` to prove that you read that conversation.',
      answers: {
        200: {
          description: 'Sent.',
          schema: 'SelfChat',
          example: { ...example, conversation_id: null, proved_at: null },
        },
      },
      problems: [
        'self_chat_disabled',
        'self_chat_unknown',
        'self_chat_unseen',
        'self_chat_full',
        ...CHAT_DB,
        ...SENDING,
      ],
    },
    proveSelfChat: {
      tag: 'Approvals',
      summary: 'Prove with the code that the conversation is yours',
      description:
        'Takes the six digits that were sent to the conversation. ' +
        'From then on held sends are shown there, and your tapbacks decide.',
      body: { schema: proveBody, example: { code: '482913' } },
      answers: { 200: { description: 'Proved.', schema: 'SelfChat', example: example } },
      problems: ['self_chat_disabled', 'code_wrong', ...CHAT_DB, ...STATE_DB],
      mistakes: [
        { pointer: '/code', message: '`code` is missing. Copy the code from the conversation with yourself.' },
      ],
    },
  },
  schemas: { SelfChat: selfChatSchema, SelfChatCode: proveBody },
};

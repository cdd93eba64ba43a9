import type { MessageDetails } from '../../src/core/model/details.ts';

/** The details of a message without any. */
export const NO_DETAILS: MessageDetails = {
  service: 'iMessage',
  kind: 'message',
  reply_to_guid: null,
  reply_to: null,
  edited_at: null,
  retracted_at: null,
  delivered_at: null,
  read_at: null,
  error: null,
  attachments: [],
  reactions: [],
};

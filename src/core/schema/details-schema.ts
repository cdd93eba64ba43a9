import * as z from 'zod';
import {
  ATTACHMENT_STATES,
  CONVERSATION_FILTERS,
  type ConversationDetails,
  FILTER_ACTIONS,
  MESSAGE_KINDS,
  type MessageDetails,
  TRANSFER_STATES,
} from '../model/details.ts';
import type { ListedAttachment } from '../model/listed-attachment.ts';
import { MESSAGE_STATUSES } from '../model/message.ts';
import { SERVICE_REASONS } from '../model/send-service.ts';
import { contentMembers, contentMembersWith } from './content-schema.ts';
import { reactionSchema } from './reaction-schema.ts';
import { shapeOf } from './shape.ts';

const instant = z.iso.datetime({ precision: 0 }).nullable();

const briefBody = z.string().meta({ description: 'At most 200 characters.' });

/** `details` of a Conversation, if requested (decision K3). */
export const conversationDetailsSchema = shapeOf<ConversationDetails>()(
  z
    .object({
      chat_number: z.int().meta({ description: 'Row id of its chat in chat.db, for programs that need a number.' }),
      other_ids: z.array(z.string()).readonly().optional().meta({
        description:
          'The ids of the other chats that are this group, oldest first. Each is accepted wherever an id is. Absent if there are none.',
      }),
      unread_count: z.int().optional().meta({ description: 'Absent if the database does not record it.' }),
      is_group: z.boolean(),
      service: z.string().nullable().meta({ description: 'As stored: `iMessage`, `SMS`, `RCS`.' }),
      filter: z.enum(CONVERSATION_FILTERS).optional().meta({
        description: 'How Messages files it. It shows only `known` and `unknown` in its lists.',
      }),
      last_message: z
        .object({
          id: z.string(),
          sender: z.string(),
          is_from_me: z.boolean(),
          status: z.enum(MESSAGE_STATUSES).optional().meta({ description: 'Earlier versions of a Mac omit it.' }),
          body: briefBody,
          sentence: z
            .string()
            .optional()
            .meta({ description: 'A sentence that describes the message, if it is more than a text.' }),
          group_event: contentMembers.group_event,
          location_share: contentMembers.location_share,
          timestamp: z.iso.datetime({ precision: 0 }),
        })
        .nullable(),
    })
    .meta({ id: 'ConversationDetails' }),
);

const origin = z
  .discriminatedUnion('by', [
    z.object({
      by: z.literal('gateway'),
      request_id: z.string().optional().meta({ description: '`X-Request-Id` of the send.' }),
      idempotency_key: z.string().optional().meta({ description: '`Idempotency-Key` of the send.' }),
      key_id: z.string().optional().meta({
        description: 'Id of the limited key that sent it. Absent if the owner sent it, and in answers to limited keys.',
      }),
    }),
    z.object({ by: z.literal('elsewhere') }),
  ])
  .meta({
    description: 'For an outgoing message: whether this service sent it. Absent if that is unknown.',
  });

const attachmentWith = <Added extends z.ZodRawShape>(added: Added) =>
  z.object({
    n: z.int().optional().meta({
      description: 'Its number in `GET /messages/{id}/attachments/{n}`, if that differs from its index in this list.',
    }),
    name: z.string(),
    mime_type: z.string().nullable(),
    bytes: z.int().nullable(),
    transfer: z.enum(TRANSFER_STATES).nullable(),
    state: z.enum(ATTACHMENT_STATES).meta({ description: 'The state of the file.' }),
    folder: z.literal(true).optional().meta({ description: 'True for a folder. Its bytes are a tar of the folder.' }),
    path: z.string().nullable().meta({ description: 'Null if Messages has stored no path.' }),
    guid: z.string().optional().meta({ description: 'The text runs of a part refer to the attachment by this guid.' }),
    ...added,
    transcript: z.string().optional().meta({ description: 'Words of a voice message, as Apple transcribed them.' }),
    width: z.number().optional(),
    height: z.number().optional(),
  });

/** An item of `GET /conversations/{id}/attachments`. */
export const listedAttachmentWith = <Added extends z.ZodRawShape>(added: Added) =>
  attachmentWith(added)
    .extend({
      message_id: z.string(),
      n: z.int().meta({ description: 'Its number in `GET /messages/{id}/attachments/{n}`.' }),
      sender: z.string(),
      is_from_me: z.boolean(),
      timestamp: z.iso.datetime({ precision: 0 }),
    })
    .meta({ id: 'ListedAttachment' });

shapeOf<ListedAttachment>()(listedAttachmentWith({}));

/** `details` of a Message, with what features add to a row and to its attachments. */
export const messageDetailsWith = <Row extends z.ZodRawShape, File extends z.ZodRawShape>(row: Row, file: File) =>
  z
    .object({
      service: z.string().nullable().meta({ description: 'As stored: `iMessage`, `SMS`, `RCS`.' }),
      kind: z.enum(MESSAGE_KINDS),
      sentence: z.string().optional().meta({
        description:
          'One line for people that describes the row, at most 200 characters. Absent if it would repeat the text.',
      }),
      reply_to_guid: z.string().nullable().meta({ description: 'guid of the message replied to.' }),
      reply_to: z
        .object({ id: z.string(), guid: z.string(), sender: z.string(), body: briefBody })
        .nullable()
        .meta({ description: 'The message replied to, if it is in the database.' }),
      edited_at: instant,
      retracted_at: instant,
      delivered_at: instant,
      read_at: instant,
      error: z.int().nullable().meta({ description: 'Error number from Messages.' }),
      attachments: z
        .array(attachmentWith(file))
        .readonly()
        .meta({ description: "The Message's attachments, in the same order." }),
      reactions: z.array(reactionSchema).readonly().meta({ description: 'Current reactions, oldest first.' }),
      origin: origin.optional(),
      service_used: z.string().nullable().optional().meta({
        description:
          'The service that Messages recorded for the message. Only if the send had `service` or `fallback`.',
      }),
      service_reason: z.enum(SERVICE_REASONS).optional().meta({ description: 'Why that service was chosen.' }),
      part_of: z.object({ id: z.string(), guid: z.string() }).readonly().optional().meta({
        description: 'For a link that Messages stored as a separate row: the message with the rest of the text.',
      }),
      mirror: z
        .literal(true)
        .optional()
        .meta({ description: 'An incoming copy of an outgoing message, in a conversation with oneself.' }),
      late: z
        .literal(true)
        .optional()
        .meta({ description: 'It arrived more than 30 minutes after it was written, such as history from iCloud.' }),
      twin_of: z
        .object({ id: z.string(), guid: z.string() })
        .optional()
        .meta({ description: 'For a late message that iCloud wrote again: the row that was there before.' }),
      filter: z
        .object({
          action: z.enum(FILTER_ACTIONS),
          code: z.int().meta({ description: '`filter_action` as stored.' }),
          sub_code: z.int().nullable().meta({ description: '`filter_sub_action` as stored.' }),
        })
        .readonly()
        .optional()
        .meta({ description: 'How macOS 27 filed the message. Absent if macOS did not file it, and before macOS 27.' }),
      ...contentMembersWith(row),
    })
    .meta({ id: 'MessageDetails' });

/** `details` of a Message, if requested (decision H). */
export const messageDetailsSchema = shapeOf<MessageDetails>()(messageDetailsWith({}, {}));

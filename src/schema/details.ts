import * as z from 'zod';
import {
  ATTACHMENT_STATES,
  type ConversationDetails,
  FILTER_ACTIONS,
  MESSAGE_KINDS,
  type MessageDetails,
  TRANSFER_STATES,
} from '../domain/details.ts';
import { SERVICE_REASONS } from '../domain/send-service.ts';
import { contactCardSchema, locationPinSchema, stickerSchema } from './cards.ts';
import { contentMembers } from './content.ts';
import { reactionSchema } from './reaction.ts';
import { shapeOf } from './shape.ts';

const instant = z.iso.datetime({ precision: 0 }).nullable();

const briefBody = z.string().meta({ description: 'At most 200 characters.' });

/** `details` of a Conversation, if requested (decision K3). */
export const conversationDetailsSchema = shapeOf<ConversationDetails>()(
  z
    .object({
      chat_number: z.int().meta({ description: 'Row id of its chat in chat.db, for programs that need a number.' }),
      unread_count: z.int().optional().meta({ description: 'Left out where the database cannot say.' }),
      is_group: z.boolean(),
      service: z.string().nullable().meta({ description: 'As stored: `iMessage`, `SMS`, `RCS`.' }),
      last_message: z
        .object({
          id: z.string(),
          sender: z.string(),
          is_from_me: z.boolean(),
          body: briefBody,
          sentence: z.string().optional().meta({ description: 'What it is, where it is more than a text.' }),
          group_event: contentMembers.group_event,
          location_share: contentMembers.location_share,
          timestamp: z.iso.datetime({ precision: 0 }),
        })
        .nullable(),
    })
    .meta({ id: 'ConversationDetails' }),
);

/** Decision I5. */
const origin = z
  .discriminatedUnion('by', [
    z.object({
      by: z.literal('gateway'),
      request_id: z.string().optional().meta({ description: '`X-Request-Id` of the send.' }),
      idempotency_key: z.string().optional().meta({ description: '`Idempotency-Key` of the send.' }),
      key_id: z.string().optional().meta({
        description: "Id of the limited key that sent it. Absent for the owner's own sends, and for limited keys.",
      }),
    }),
    z.object({ by: z.literal('elsewhere') }),
  ])
  .meta({
    description: 'Of an own message: whether this service sent it. Absent where that is not known.',
  });

/** `details` of a Message, if requested (decision H). */
export const messageDetailsSchema = shapeOf<MessageDetails>()(
  z
    .object({
      service: z.string().nullable().meta({ description: 'As stored: `iMessage`, `SMS`, `RCS`.' }),
      kind: z.enum(MESSAGE_KINDS),
      sentence: z.string().optional().meta({
        description:
          'One line for people, at most 200 characters: what the row is. Absent where it is nothing but its text.',
      }),
      reply_to_guid: z.string().nullable().meta({ description: 'guid of the message replied to.' }),
      reply_to: z
        .object({ id: z.string(), guid: z.string(), sender: z.string(), body: briefBody })
        .nullable()
        .meta({ description: 'The message replied to, when it is in the database.' }),
      edited_at: instant,
      retracted_at: instant,
      delivered_at: instant,
      read_at: instant,
      error: z.int().nullable().meta({ description: 'Error number from Messages.' }),
      attachments: z
        .array(
          z.object({
            n: z.int().optional().meta({ description: 'Its number, where that is not its place in the list.' }),
            name: z.string(),
            mime_type: z.string().nullable(),
            bytes: z.int().nullable(),
            transfer: z.enum(TRANSFER_STATES).nullable(),
            state: z.enum(ATTACHMENT_STATES).meta({ description: 'Where the file is now.' }),
            path: z.string(),
            guid: z.string().optional().meta({ description: 'Names it in the runs of a part.' }),
            sticker: stickerSchema.optional(),
            contact: contactCardSchema.optional(),
            location: locationPinSchema.optional(),
            transcript: z.string().optional().meta({ description: "Words of a voice message, Apple's own." }),
            width: z.number().optional(),
            height: z.number().optional(),
          }),
        )
        .readonly()
        .meta({ description: 'Those of the Message, in the same order.' }),
      reactions: z.array(reactionSchema).readonly().meta({ description: 'Without those that were removed.' }),
      origin: origin.optional(),
      service_used: z
        .string()
        .nullable()
        .optional()
        .meta({ description: 'Of a send with `service` or `fallback`: the service of its row.' }),
      service_reason: z.enum(SERVICE_REASONS).optional().meta({ description: 'Why it was sent by that service.' }),
      part_of: z
        .object({ id: z.string(), guid: z.string() })
        .readonly()
        .optional()
        .meta({ description: 'Of the link of a message that is two rows: the message with its text.' }),
      mirror: z
        .literal(true)
        .optional()
        .meta({ description: 'An incoming copy of an own message in a conversation with oneself.' }),
      late: z
        .literal(true)
        .optional()
        .meta({ description: 'It came more than 30 minutes after it was written, such as history from iCloud.' }),
      filter: z
        .object({
          action: z.enum(FILTER_ACTIONS),
          code: z.int().meta({ description: '`filter_action` as stored.' }),
          sub_code: z.int().nullable().meta({ description: '`filter_sub_action` as stored.' }),
        })
        .readonly()
        .optional()
        .meta({ description: 'Where macOS 27 filed it. Absent where it did not, and before macOS 27.' }),
      ...contentMembers,
    })
    .meta({ id: 'MessageDetails' }),
);

import * as z from 'zod';
import { ASSOCIATED_KINDS, REACTION_TYPES, type Reaction } from '../model/reaction.ts';
import { contentMembersWith, detailsLeftOut } from './content-schema.ts';
import { namesSchema } from './names-schema.ts';
import { shapeOf } from './shape.ts';

/** A reaction, with what features add to the content of a row. */
export const reactionWith = <Added extends z.ZodRawShape>(added: Added) =>
  z
    .object({
      id: z.string(),
      guid: z.string(),
      conversation_id: z.string(),
      sender: z.string(),
      is_from_me: z.boolean(),
      reaction_type: z.enum(REACTION_TYPES),
      emoji: z.string().nullable().meta({ description: 'The character of an emoji reaction.' }),
      message_id: z.string().meta({ description: 'The message reacted to; "" if it is not in the database.' }),
      message_guid: z.string(),
      timestamp: z.iso.datetime({ precision: 0 }),
      associated_message_type: z.int(),
      details: z
        .object({
          kind: z.enum(ASSOCIATED_KINDS).meta({
            description:
              'A message of an app, a vote in a poll, or an option that was added to a poll. Other values may follow.',
          }),
          sentence: z.string().meta({ description: 'One line for people, at most 200 characters.' }),
          ...contentMembersWith(added),
        })
        .optional()
        .meta({ description: 'With `include=details`, if the row is neither a tapback nor a sticker.' }),
      details_left_out: detailsLeftOut,
      part: z
        .int()
        .nonnegative()
        .optional()
        .meta({ description: 'The part of the message that was reacted to; left out for the message as a whole.' }),
      balloon: z.literal(true).optional().meta({ description: 'Reacted to the balloon of a link or an app.' }),
      names: namesSchema.optional(),
    })
    .meta({ id: 'Reaction' });

/** `data` of a reaction event (decision C8). */
export const reactionSchema = shapeOf<Reaction>()(reactionWith({}));

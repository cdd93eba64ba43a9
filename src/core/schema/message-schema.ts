import * as z from 'zod';
import { MESSAGE_STATUSES, type Message } from '../model/message.ts';
import { detailsLeftOut } from './content-schema.ts';
import { messageDetailsSchema } from './details-schema.ts';
import { namesSchema } from './names-schema.ts';
import { shapeOf } from './shape.ts';

/** The contract's Message. */
export const messageSchema = shapeOf<Message>()(
  z
    .object({
      id: z.string().meta({ description: 'Row id in chat.db; "" in a provisional answer to a send.' }),
      guid: z.string(),
      conversation_id: z.string().meta({ description: 'Chat guid of the conversation; "" if it has none.' }),
      sender: z.string(),
      body: z.string(),
      attachments: z.array(z.string()).readonly().meta({ description: 'Absolute paths on the host.' }),
      timestamp: z.iso.datetime({ precision: 0 }),
      is_from_me: z.boolean(),
      status: z.enum(MESSAGE_STATUSES),
      details: messageDetailsSchema.optional(),
      details_left_out: detailsLeftOut,
      names: namesSchema.optional(),
    })
    .meta({ id: 'Message' }),
);

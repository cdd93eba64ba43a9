import * as z from 'zod';
import type { SelfChatRecord } from '../../client/access-types.ts';
import { shapeOf } from '../../core/schema/shape.ts';
import { NOT_AN_OBJECT } from '../../core/schema/text.ts';

/** The owner's conversation with their own address, where tapbacks approve or deny held sends. */
export const selfChatSchema = shapeOf<SelfChatRecord>()(
  z
    .object({
      address: z.string().meta({ description: '`self.address` of config.toml.' }),
      conversation_id: z.string().nullable().meta({ description: 'null until the conversation is proved.' }),
      proved_at: z.string().nullable(),
    })
    .meta({ id: 'SelfChat' }),
);

/** Body of `POST /self-chat/prove`. */
export const proveBody = z
  .object(
    { code: z.string({ error: '`code` is missing. Copy the code from the conversation with yourself.' }) },
    NOT_AN_OBJECT,
  )
  .meta({ id: 'SelfChatCode' });

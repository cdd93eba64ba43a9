import * as z from 'zod';
import { NOT_AN_OBJECT, text } from '../../core/schema/text.ts';

const from = text('`from`', 512).refine(
  (value) => value.trim() !== '' && !/\p{Cc}/u.test(value),
  '`from` must be an address.',
);

/** Body of `POST /demo/say`. */
export const demoSayBody = z.object(
  {
    from,
    text: text('`text`', 20_000).refine((value) => value !== '', '`text` must not be empty.'),
    conversation_id: text('`conversation_id`', 512).optional(),
  },
  NOT_AN_OBJECT,
);

/** Body of `POST /demo/read`. */
export const demoReadBody = z.object({ conversation_id: text('`conversation_id`', 512) }, NOT_AN_OBJECT);

/** Body of `POST /demo/react`. */
export const demoReactBody = z.object(
  {
    from,
    message_id: text('`message_id`', 16).refine((value) => /^\d+$/.test(value), '`message_id` must be a number.'),
    reaction: text('`reaction`', 32).refine((value) => value !== '', '`reaction` must not be empty.'),
    take_back: z.boolean({ error: '`take_back` must be true or false.' }).default(false),
  },
  NOT_AN_OBJECT,
);

import * as z from 'zod';
import { NOT_AN_OBJECT, text } from './text.ts';

const from = text('The from', 512).refine(
  (value) => value.trim() !== '' && !/\p{Cc}/u.test(value),
  'The from must be an address.',
);

/** Body of `POST /demo/say`. */
export const demoSayBody = z.object(
  {
    from,
    text: text('The text', 20_000).refine((value) => value !== '', 'The text must not be empty.'),
    conversation_id: text('The conversation_id', 512).optional(),
  },
  NOT_AN_OBJECT,
);

/** Body of `POST /demo/read`. */
export const demoReadBody = z.object({ conversation_id: text('The conversation_id', 512) }, NOT_AN_OBJECT);

/** Body of `POST /demo/react`. */
export const demoReactBody = z.object(
  {
    from,
    message_id: text('The message_id', 16).refine((value) => /^\d+$/.test(value), 'The message_id must be a number.'),
    reaction: text('The reaction', 32).refine((value) => value !== '', 'The reaction must not be empty.'),
    take_back: z.boolean({ error: 'The take_back must be true or false.' }).default(false),
  },
  NOT_AN_OBJECT,
);

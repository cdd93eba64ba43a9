import * as z from 'zod';
import { isTimeZone } from '../model/day-start.ts';
import { type Highlight, MAX_SEARCH_CHARACTERS, SEARCHED_TEXTS, type SearchHit } from '../model/search.ts';
import { includeParameter } from './include-parameter.ts';
import { messageSchema } from './message-schema.ts';
import { junkParameter, limit } from './query-parameters.ts';
import { shapeOf } from './shape.ts';

const highlightSchema = shapeOf<Highlight>()(z.tuple([z.int(), z.int()]).readonly());

/** One message found by `GET /search` (decision J1). */
export const searchHitSchema = shapeOf<SearchHit>()(
  z
    .object({
      message: messageSchema,
      highlights: z.array(highlightSchema).readonly().meta({
        description: 'Matches in `body`, as UTF-16 offsets: start and exclusive end. Empty for a match in a file name.',
      }),
      in: z.enum(SEARCHED_TEXTS).optional().meta({
        description:
          'If words of the query were found outside `body`: in which text, such as a transcript, a link or a poll.',
      }),
    })
    .meta({ id: 'SearchHit' }),
);

/** Parameters of `GET /search` (decisions J1, J2). */
export const searchParameters = z.object({
  q: z.string({ error: 'The parameter `q` is required: what to search for.' }).meta({
    description: 'Words, `"a phrase"`, `begin*`, `-without`, `from:`, `in:`, `has:attachment`, `after:`, `before:`.',
    maxLength: MAX_SEARCH_CHARACTERS,
    examples: ['from:me "see you" after:2026-01-31'],
  }),
  conversation_id: z
    .string()
    .optional()
    .meta({ description: 'Only this conversation: chat guid, in any variant, or an address.' }),
  time_zone: z
    .string()
    .refine(isTimeZone, 'The parameter `time_zone` must be the name of a time zone, as in America/New_York.')
    .optional()
    .meta({
      description: 'The time zone in which the days of `after:` and `before:` begin. UTC by default.',
      examples: ['America/New_York'],
    }),
  limit: limit(50, 200),
  cursor: z.string().optional().meta({ description: 'From a `Link` header.' }),
  include: includeParameter,
  junk: junkParameter,
});

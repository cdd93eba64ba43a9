import * as z from 'zod';
import { type Highlight, SEARCHED_TEXTS, type SearchHit, type SearchReport } from '../../client/search-types.ts';
import { isTimeZone } from '../../core/model/day-start.ts';
import { includeParameter } from '../../core/schema/include-parameter.ts';
import { messageSchema } from '../../core/schema/message-schema.ts';
import { narrowingParameters } from '../../core/schema/narrowing-parameters.ts';
import { limit } from '../../core/schema/query-parameters.ts';
import { shapeOf } from '../../core/schema/shape.ts';
import { MAX_SEARCH_CHARACTERS } from './types.ts';

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
  junk: narrowingParameters.junk,
});

/** The member `search` of the status. */
export const searchReportSchema = shapeOf<SearchReport>()(
  z.object({
    state: z.enum(['building', 'complete', 'failing']),
    indexed_rows: z.int(),
    total_rows: z.int().meta({
      description: 'Number of rows to index, at most: reactions are counted too, although they are not indexed.',
    }),
    indexed_from: z.string().nullable(),
    problem: z.string().nullable(),
    skipped_rows: z
      .int()
      .meta({
        description:
          'Number of messages that are found by their text only, because decoding their other content did not end. Absent if there are none.',
      })
      .optional(),
    skipped_ids: z.array(z.string()).readonly().meta({ description: 'Ids of these messages, at most 20.' }).optional(),
  }),
).meta({ description: 'The search index; absent while search is switched off.' });

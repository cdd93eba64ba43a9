import * as z from 'zod';
import { includeParameter } from '../../schema/include-parameter.ts';
import { narrowingParameters } from '../../schema/narrowing-parameters.ts';
import { limit, offset } from '../../schema/query-parameters.ts';

const cursor = z.string().optional().meta({ description: 'From the `Link` header of the previous page.' });

const MAX_WORDS = 200;

/** Parameters of `GET /conversations` (decision B9). */
export const conversationQuery = z.object({
  q: z.string().max(MAX_WORDS, `The parameter \`q\` must have at most ${MAX_WORDS} characters.`).optional().meta({
    description:
      'Only conversations in which each of these words occurs: in the name, the id, or in the name or address of a participant. A part of a word or number is enough.',
  }),
  limit: limit(50, 200),
  offset,
  cursor: cursor.meta({
    description:
      'Replaces `offset`, so that no item is repeated on a later page. Empty for the first page, then from the `Link` header.',
  }),
  include: includeParameter,
  junk: narrowingParameters.junk,
});

/** Parameters of `GET /conversations/{id}/attachments`. */
export const conversationAttachmentsQuery = z.object({ limit: limit(50, 200), cursor });

/** Parameters of `GET /conversations/{id}`. */
export const singleConversationQuery = z.object({ include: includeParameter });

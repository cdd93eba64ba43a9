import * as z from 'zod';
import { includeParameter } from './include-parameter.ts';
import { junkParameter, limit, offset } from './query-parameters.ts';

const cursor = z.string().optional().meta({ description: 'From the `Link` header of the previous page.' });

/** Parameters of `GET /conversations` (decision B9). */
export const conversationQuery = z.object({
  limit: limit(50, 200),
  offset,
  cursor: cursor.meta({
    description:
      'Replaces `offset`, so that no item is repeated on a later page. Empty for the first page, then from the `Link` header.',
  }),
  include: includeParameter,
  junk: junkParameter,
});

/** Parameters of `GET /conversations/{id}/attachments` (decision Z4). */
export const conversationAttachmentsQuery = z.object({ limit: limit(50, 200), cursor });

/** Parameters of `GET /conversations/{id}`. */
export const singleConversationQuery = z.object({ include: includeParameter });

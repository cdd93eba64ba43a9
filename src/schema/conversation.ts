import * as z from 'zod';
import { includeParameter } from './include.ts';
import { limit, offset } from './query.ts';

/** Parameters of `GET /conversations` (decision B9). */
export const conversationQuery = z.object({ limit: limit(50, 200), offset, include: includeParameter });

/** Parameters of `GET /conversations/{id}`. */
export const singleConversationQuery = z.object({ include: includeParameter });

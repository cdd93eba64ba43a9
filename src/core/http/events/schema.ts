import * as z from 'zod';
import { includeParameter } from '../../schema/include-parameter.ts';
import { narrowingParameters } from '../../schema/narrowing-parameters.ts';
import { afterParameter, changesParameter } from '../../schema/offset-parameter.ts';
import { limit, wait } from '../../schema/query-parameters.ts';

const AFTER_REQUIRED = 'The parameter `after` is required: an offset, or 0 for everything. A Mac also takes a row id.';

/** The mistake for a `Last-Event-ID` that the service did not issue. */
export const LAST_EVENT_ID_MISTAKE = {
  pointer: 'Last-Event-ID',
  message: 'The header `Last-Event-ID` must be the id of an event of the service.',
};

/** Parameters of `GET /events` (decisions G4, Q1). */
export const eventsQuery = z
  .object({
    after: afterParameter.optional(),
    changes: changesParameter,
    limit: limit(100, 1000),
    include: includeParameter,
    ...narrowingParameters,
    wait,
  })
  .refine((query) => query.after !== undefined || query.changes, {
    path: ['after'],
    error: AFTER_REQUIRED,
    // Makes this check run even if parameters other than `after` and `changes` are invalid, so that every mistake is
    // named at once.
    when: ({ issues }) => !issues.some(({ path }) => path?.[0] === 'after' || path?.[0] === 'changes'),
  });

import { examples } from '../../core/http/openapi/examples.ts';
import { CHAT_DB, LIMIT_MISTAKE, NEXT } from '../../core/http/openapi/operation.ts';
import type { ResourceDocument } from '../../core/http/resource.ts';
import { searchHitSchema, searchParameters, searchReportSchema } from './schema.ts';

/** Search in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    searchMessages: {
      tag: 'Messages',
      summary: 'Full-text search, newest first',
      description:
        'All words must occur; case and accents do not matter. Also `"a phrase"`, `begin*` (3 letters or more), `-without`, ' +
        '`from:` (address, `me` or name), `in:` (conversation id or name), `has:attachment`, `after:` and `before:` ' +
        '(YYYY-MM-DD, from midnight UTC or in `time_zone`). Needs `search.enabled` in config.toml.',
      query: searchParameters,
      answers: {
        200: {
          description: 'One page.',
          schema: 'SearchHit',
          isList: true,
          example: [{ message: examples.received, highlights: [[8, 13]] }],
          headers: {
            ...NEXT,
            'Postern-Search-Complete':
              '`false; from=<date>` while the index is being built: messages before that date cannot be found yet.',
          },
        },
      },
      problems: ['invalid_cursor', 'search_disabled', 'search_unavailable', ...CHAT_DB],
      mistakes: [{ pointer: '?q', message: 'At character 8: the quotation mark is not closed.' }, LIMIT_MISTAKE],
    },
  },
  schemas: { SearchHit: searchHitSchema },
  status: searchReportSchema,
};

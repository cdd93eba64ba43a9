import * as z from 'zod';
import { CHANGE_EVENT_TYPES } from '../../model/event.ts';
import { INCLUDE_MISTAKE } from '../../schema/include-parameter.ts';
import { MAX_AGE_MISTAKE } from '../../schema/narrowing-parameters.ts';
import { streamQuery } from '../../schema/stream-query.ts';
import { examples } from '../openapi/examples.ts';
import { CHAT_DB, requestHeader } from '../openapi/operation.ts';
import type { ResourceDocument } from '../resource.ts';
import { anyEventSchema, changeEventSchema, eventSchema } from './answers.ts';
import { eventsQuery } from './schema.ts';

/** Events in the documents of the API. */
export const DOCUMENT = {
  operations: {
    listEvents: {
      tag: 'Events',
      summary: 'Events after a row id or an offset, oldest first',
      description:
        '`changes=true` adds changes of existing messages, and gives each event its `offset`. `after` may ' +
        'then be missing: the answer is empty, and its `Link` has the current offset. With `wait` the answer comes as soon ' +
        'as there is an event.\n\nIf `Accept` is only `text/event-stream` (Server-Sent Events) or `application/x-ndjson`, ' +
        'the response stays open and has each event as it happens, from `after` or `Last-Event-ID` on, or else from now on.',
      query: eventsQuery,
      headers: [requestHeader('Last-Event-ID', 'With Server-Sent Events: where to continue, instead of `after`.')],
      answers: {
        200: {
          description: 'One page.',
          schema: 'AnyEvent',
          isList: true,
          examples: {
            rows: { summary: 'New rows', value: [examples.event] },
            changes: {
              summary: 'With changes=true',
              value: [
                { ...examples.event, offset: examples.offset },
                ...CHANGE_EVENT_TYPES.map((type) => examples.eventOf(type)),
              ],
            },
          },
          streams: ['text/event-stream', 'application/x-ndjson'],
          headers: {
            Link: 'Always `<?…>; rel="next"`, relative to the URL of the request, except with a stream.',
          },
        },
      },
      problems: [
        'too_many_streams',
        'offset_of_another',
        'changes_disabled',
        'after_unknown',
        'offset_expired',
        ...CHAT_DB,
      ],
      mistakes: [
        {
          pointer: '?after',
          message:
            'The parameter `after` must be 0 or an offset from the service; a Mac also takes a row id (a whole number).',
        },
        { pointer: '?changes', message: 'The parameter `changes` must be true or false.' },
        INCLUDE_MISTAKE,
        MAX_AGE_MISTAKE,
      ],
    },
    openWebSocket: {
      tag: 'Events',
      summary: 'A WebSocket that receives every event',
      description:
        'The key is a query parameter. With `after`, everything since that row id or offset comes first, without gap or ' +
        'repeat. `changes=true` adds changes of existing messages, and gives every event its `offset`.',
      query: z.object({
        api_key: z.string().meta({ description: 'The key.' }),
        ...streamQuery.shape,
      }),
      answers: { 101: { description: 'Switched to WebSocket.' } },
      problems: [
        'too_many_streams',
        'bad_handshake',
        'offset_of_another',
        'changes_disabled',
        'after_unknown',
        'offset_expired',
        'upgrade_required',
        ...CHAT_DB,
        'shutting_down',
      ],
      mistakes: [INCLUDE_MISTAKE, MAX_AGE_MISTAKE],
    },
  },
  schemas: {
    AnyEvent: anyEventSchema,
    ChangeEvent: changeEventSchema,
    Event: eventSchema,
  },
} as const satisfies ResourceDocument;

import * as z from 'zod';
import type { Feature } from '../../../core/feature.ts';
import { DOCUMENT as CONVERSATIONS } from '../../../core/http/conversations/document.ts';
import { DOCUMENT as EVENTS } from '../../../core/http/events/document.ts';
import type { Json } from '../../../core/http/openapi/json-schema.ts';
import { openApi } from '../../../core/http/openapi/openapi.ts';
import type { Operation } from '../../../core/http/openapi/operation.ts';
import { documentsOf, type LoadedDocument } from '../../../core/http/resource.ts';
import { RESOURCES } from '../../../core/http/resources.ts';
import type { Route } from '../../../core/http/route.ts';
import { macSchema } from '../../../core/http/status/answers.ts';
import { DOCUMENT as STATUS } from '../../../core/http/status/document.ts';
import { FLEET_PROBLEMS } from '../problems.ts';
import { PASS_ON } from './forward.ts';
import { HUB_OPERATIONS, LIST_MACS } from './hub-routes.ts';

const MAC = z.string().optional().meta({ description: 'Only events of this Mac.' });

/** Returns the parameters of a Mac but for `include`, and that of a hub. */
const queryOf = ({ shape }: z.ZodObject): z.ZodObject =>
  z.object({ ...Object.fromEntries(Object.entries(shape).filter(([name]) => name !== 'include')), mac: MAC });

const { getHealth, getStatus } = STATUS.operations;
const { listEvents, openWebSocket } = EVENTS.operations;
const { listConversations } = CONVERSATIONS.operations;

/** The operations that differ from those of a Mac. */
const CHANGED: Readonly<Record<string, Operation>> = {
  getHealth: {
    ...getHealth,
    summary: 'Whether the events of the fleet can be read, and if not, why',
    description: 'Needs no key, for uptime monitors. The answer is 200 while the hub runs; `backend` says the rest.',
  },
  getStatus: {
    ...getStatus,
    summary: 'Version, Macs, webhooks, and the operations that the hub has',
    description: 'What the hub knows about itself and its Macs, for monitoring. `newest_event` has the current offset.',
    query: z.object({}),
  },
  listEvents: {
    ...listEvents,
    summary: 'Events of all Macs after an offset, oldest first',
    description: `${listEvents.description}\n\nEach event names its \`mac\`. Offsets are places in the stream of the fleet, the same at every hub.`,
    query: queryOf(listEvents.query),
    problems: [
      ...['offset_expired', 'stream_changed', 'offset_of_a_mac', 'include_at_the_mac'],
      ...['mac_unknown', 'too_many_streams'],
    ],
  },
  openWebSocket: {
    ...openWebSocket,
    summary: 'A WebSocket that receives every event of all Macs',
    query: queryOf(openWebSocket.query),
  },
  listConversations: {
    ...listConversations,
    summary: 'Conversations of all Macs, most recent first',
    description:
      'The newest 1,000 conversations of all Macs, each with its `mac`. A Mac that does not answer in half a second is named in ' +
      '`Postern-Partial`. Pages go by `offset`; the other parameters are those of a Mac.',
    answers: {
      200: {
        ...listConversations.answers[200],
        headers: {
          ...listConversations.answers[200].headers,
          'Postern-Partial': 'The Macs that did not answer, separated by commas.',
        },
      },
    },
    problems: ['invalid_cursor'],
  },
};

const OF_LIST_MACS: Operation = {
  tag: 'Service',
  summary: 'The Macs of the fleet and their machines',
  description:
    'Each Mac with its state and the path at which its API begins. Of each machine: its version, when it was last heard, ' +
    'how many rows it has not published yet, and how many were too old to get an event.',
  answers: {
    200: {
      description: 'The Macs, sorted by id.',
      schema: 'Mac',
      isList: true,
      example: [
        {
          id: 'm7',
          state: 'present',
          path: '/macs/m7/api/v1',
          machines: [
            {
              ...{ machine: 'imac-7f', state: 'present', name: 'Studio iMac', version: '1.2.3' },
              ...{ heard_at: '2026-01-02T03:04:05.000Z', newest_row: 812 },
              ...{ behind: 0, rows_without_event: 0, problem: null },
            },
          ],
        },
      ],
    },
  },
};

const OF_PASS_ON: Operation = {
  tag: 'Service',
  summary: 'The whole API of one Mac',
  description:
    'Passes the request on to that Mac, which checks and counts it: `/macs/m7/api/v1/messages`, `/macs/m7/mcp`. With the ' +
    "hub's key it has the rights of the Mac's owner, with a limited key of the Mac that key's. " +
    'The reference of a Mac describes its operations; endless streams of one Mac are `GET /api/v1/events?mac=m7`.',
  answers: { 200: { description: 'What the Mac answers.' } },
  problems: ['mac_unknown', 'mac_away', 'mac_silent', 'send_outcome_unknown', 'other_machine'],
};

const ofPassOn = <Part>(partOf: (route: Route) => Part): Readonly<Record<string, Part>> =>
  Object.fromEntries(PASS_ON.map((route) => [`passOn${route.method}`, partOf(route)]));

/** The operations that only a hub has. */
const OWN: LoadedDocument = {
  name: 'fleet',
  isOptional: false,
  problems: FLEET_PROBLEMS,
  schemas: { Mac: macSchema },
  routes: {
    listMacs: LIST_MACS,
    ...ofPassOn((route) => ({ ...route, path: '/macs/{mac}/{path}' })),
  },
  operations: {
    listMacs: OF_LIST_MACS,
    ...ofPassOn(() => OF_PASS_ON),
  },
};

/** Returns the OpenAPI document of a hub that serves these features. */
export async function hubDocument(version: string, features: readonly Feature[]): Promise<Json> {
  const ofMac = await documentsOf(RESOURCES);
  const shared = ofMac.map((one) => {
    const has = Object.entries(one.operations).filter(([id]) => HUB_OPERATIONS.includes(id));
    return { ...one, operations: Object.fromEntries(has.map(([id, same]) => [id, CHANGED[id] ?? same])) };
  });
  return openApi(version, [...shared, OWN, ...(await documentsOf(features))]);
}

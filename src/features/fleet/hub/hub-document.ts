import * as z from 'zod';
import type { LoadedDocument } from '../../../core/feature.ts';
import { type Contract, openApi } from '../../../core/http/openapi/openapi.ts';
import type { Operation } from '../../../core/http/openapi/operation.ts';
import { OPERATIONS } from '../../../core/http/openapi/operations.ts';
import type { Json } from '../../../core/schema/json-schema.ts';
import { ROUTES, type Route, type RouteId } from '../../../core/schema/routes.ts';
import { macSchema } from '../../../core/schema/status-schema.ts';
import { FLEET_PROBLEMS } from '../problems.ts';

const MAC = z.string().optional().meta({ description: 'Only events of this Mac.' });

/** Returns the parameters of a Mac but for `include`, and that of a hub. */
const queryOf = ({ shape }: z.ZodObject): z.ZodObject =>
  z.object({ ...Object.fromEntries(Object.entries(shape).filter(([name]) => name !== 'include')), mac: MAC });

const { getHealth, getStatus, listEvents, openWebSocket, listConversations } = OPERATIONS;

/** The operations that differ from those of a Mac. */
const CHANGED: Partial<Record<RouteId, Operation>> = {
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
      'The newest conversations of all Macs, each with its `mac`. A Mac that does not answer in half a second is named in ' +
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

const LIST_MACS: Operation = {
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

const PASS_ON: Operation = {
  tag: 'Service',
  summary: 'The whole API of one Mac',
  description:
    'Passes the request on to that Mac, which checks and counts it: `/macs/m7/api/v1/messages`, `/macs/m7/mcp`. With the ' +
    "hub's key it has the rights of the Mac's owner, with a limited key of the Mac that key's. " +
    'The reference of a Mac describes its operations; endless streams of one Mac are `GET /api/v1/events?mac=m7`.',
  answers: { 200: { description: 'What the Mac answers.' } },
  problems: ['mac_unknown', 'mac_away', 'mac_silent', 'send_outcome_unknown', 'other_machine'],
};

export interface HubDocumentParts {
  readonly version: string;
  /** The operations of the contract that the hub has. */
  readonly ids: readonly RouteId[];
  readonly routes: { readonly listMacs: Route; readonly passOn: readonly Route[] };
  /** The features that the hub serves. */
  readonly features: readonly LoadedDocument[];
}

/** Returns the OpenAPI document of a hub. */
export function hubDocument({ version, ids, routes: { listMacs, passOn }, features }: HubDocumentParts): Json {
  const contract: Contract = [
    ...ids.map((id) => ({ id, route: ROUTES[id], operation: CHANGED[id] ?? OPERATIONS[id] })),
    { id: 'listMacs', route: listMacs, operation: LIST_MACS },
    ...passOn.map((route) => ({
      id: `passOn${route.method}`,
      route: { ...route, path: '/macs/{mac}/{path}' } as const,
      operation: PASS_ON,
    })),
  ];
  const own = { name: 'fleet', routes: {}, operations: {}, problems: FLEET_PROBLEMS, schemas: { Mac: macSchema } };
  return openApi(version, [own, ...features], contract);
}

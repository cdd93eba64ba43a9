import type * as z from 'zod';
import { CHANGE_EVENT_TYPES } from '../../model/event.ts';
import { PROBLEMS } from '../../model/problems.ts';
import type { WebhookEventType } from '../../model/webhook.ts';
import { mergedSchemas, runSchemaWith } from '../../schema/content-schema.ts';
import { listedAttachmentWith, messageDetailsWith } from '../../schema/details-schema.ts';
import { reactionWith } from '../../schema/reaction-schema.ts';
import { acceptedSendSchema } from '../messages/answers.ts';
import type { LoadedDocument } from '../resource.ts';
import { pathOf, type Route } from '../route.ts';
import { statusSchema } from '../status/answers.ts';
import { WEBHOOK_EVENT_TYPES } from '../webhooks/schema.ts';
import { examples } from './examples.ts';
import { type Json, jsonSchema } from './json-schema.ts';
import { type Catalogue, otherProblems, problemExamples, problemResponses } from './openapi-problems.ts';
import { type Operation, type OperationAnswer, requestHeader } from './operation.ts';
import { problemSchema } from './problem-schema.ts';

/** The tags, in the order in which the reference page shows them. */
const TAGS = [
  { name: 'Messages', description: 'Reading and sending' },
  { name: 'Events', description: 'Live or resumed' },
  { name: 'Webhooks', description: 'Events delivered to you' },
  { name: 'Conversations', description: 'One-to-one and groups' },
  { name: 'Contacts', description: 'Who an address belongs to' },
  { name: 'Keys', description: 'Keys that may do less than the owner’s, and what was done with them' },
  { name: 'Approvals', description: 'Sends that wait for the owner’s decision' },
  { name: 'Agents', description: 'For programs that a model drives' },
  { name: 'Service', description: 'The service itself' },
] as const;

/**
 * Returns the OpenAPI 3.1 document of a service with these resources and features, made from the schemas that check the
 * requests.
 */
export function openApi(version: string, documents: readonly LoadedDocument[]): Json {
  const operations = documents.flatMap((one) => Object.values(one.operations));
  const used: ReadonlySet<string> = new Set(operations.map(({ tag }) => tag));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Postern',
      version,
      summary: 'A local gateway to Apple Messages',
      description: [
        'Messages as a REST API, a WebSocket and signed webhooks.',
        'Every error is a problem document (RFC 9457) with a stable `code`. HEAD works where GET does.',
      ].join('\n'),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The service that this document comes from.' }],
    security: [{ key: [] }],
    tags: TAGS.filter(({ name }) => used.has(name)),
    paths: paths(documents),
    webhooks: Object.fromEntries(WEBHOOK_EVENT_TYPES.map((type) => [type, { post: webhookOf(type) }])),
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-API-Key' } },
      schemas: Object.fromEntries(
        Object.entries(schemasOf(documents)).map(([name, schema]) => [name, jsonSchema(schema, name)]),
      ),
      responses: { OtherProblem: otherProblems() },
      examples: problemExamples(catalogueOf(documents)),
    },
  };
}

function schemasOf(documents: readonly LoadedDocument[]): Readonly<Record<string, z.ZodType>> {
  const members = documents.flatMap(({ name, status }) => (status === undefined ? [] : [[name, status.optional()]]));
  const added = mergedSchemas(documents.flatMap(({ details = [] }) => details));
  return {
    Problem: problemSchema,
    ...added.named,
    TextRun: runSchemaWith(added.run),
    ListedAttachment: listedAttachmentWith(added.file),
    MessageDetails: messageDetailsWith(added.row, added.file),
    Reaction: reactionWith(added.row),
    AcceptedSend: acceptedSendSchema(documents.flatMap(({ deferred }) => deferred?.schema ?? [])),
    Status: statusSchema.extend(Object.fromEntries(members)).meta({ id: 'Status' }),
    ...(Object.assign({}, ...documents.map(({ schemas }) => schemas)) as Readonly<Record<string, z.ZodType>>),
  };
}

function paths(documents: readonly LoadedDocument[]): Json {
  const made: Record<string, Record<string, Json>> = {};
  const catalogue = catalogueOf(documents);
  for (const { routes, operations, isOptional } of documents) {
    for (const [id, route] of Object.entries(routes)) {
      const described = operations[id];
      // A hub lacks some.
      if (described === undefined) continue;
      const sent = id === 'sendMessage' ? withDeferred(described, documents) : described;
      const problems = [...(sent.problems ?? []), ...(isOptional ? (['not_available'] as const) : [])];
      const path = pathOf(route);
      const operation = operationJson({ id, route, operation: { ...sent, problems }, catalogue });
      made[path] = { ...made[path], [route.method.toLowerCase()]: operation };
    }
  }
  return made;
}

function catalogueOf(documents: readonly LoadedDocument[]): Catalogue {
  return Object.assign({}, PROBLEMS, ...documents.map(({ problems }) => problems)) as Catalogue;
}

/** Adds the answers of features that take over sends. */
function withDeferred(operation: Operation, documents: readonly LoadedDocument[]): Operation {
  const { 202: accepted } = operation.answers;
  const examples = Object.fromEntries(
    documents.flatMap(({ name, deferred }) => (deferred ? [[name, deferred.example]] : [])),
  );
  if (accepted === undefined) return operation;
  return {
    ...operation,
    problems: [...(operation.problems ?? []), ...documents.flatMap(({ deferred }) => deferred?.problems ?? [])],
    answers: { ...operation.answers, 202: { ...accepted, examples: { ...accepted.examples, ...examples } } },
  };
}

interface Described {
  readonly id: string;
  readonly route: Route;
  readonly operation: Operation;
  readonly catalogue: Catalogue;
}

function operationJson({ id, route, operation, catalogue }: Described): Json {
  const { key, access } = route;
  const names = [...pathOf(route).matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const parameters = [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...(operation.query === undefined ? [] : queryParameters(operation.query)),
    ...(operation.headers ?? []),
  ];
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description,
    ...(key === 'header' ? {} : { security: [] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(operation),
    responses: {
      ...Object.fromEntries(Object.entries(operation.answers).map(([status, answer]) => [status, answerOf(answer)])),
      ...problemResponses(
        operation,
        {
          hasKey: key === 'header' || key === 'query',
          needsScope: access !== 'open' && access !== 'key',
          hasParameterInPath: names.length > 0,
        },
        catalogue,
      ),
      default: { $ref: '#/components/responses/OtherProblem' },
    },
  };
}

function requestBodyOf({ body, files = {} }: Operation): Json {
  const content = {
    ...(body !== undefined && { 'application/json': { schema: jsonSchema(body.schema), example: body.example } }),
    ...Object.fromEntries(Object.entries(files).map(([type, schema]) => [type, { schema }])),
  };
  return Object.keys(content).length === 0 ? {} : { requestBody: { required: true, content } };
}

function answerOf(answer: OperationAnswer): Json {
  const { description, schema, isList, example, examples: several, type, streams = [], headers } = answer;
  const reference = { $ref: `#/components/schemas/${schema}` };
  const content = {
    ...(schema !== undefined && {
      'application/json': {
        schema: isList === true ? { type: 'array', items: reference } : reference,
        ...(several === undefined ? { example } : { examples: several }),
      },
    }),
    ...Object.fromEntries(
      [...(type === undefined ? [] : [type]), ...streams].map((name) => [name, { schema: { type: 'string' } }]),
    ),
  };
  return {
    description,
    ...(headers === undefined
      ? {}
      : {
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: 'string' } }]),
          ),
        }),
    ...(schema === undefined && type === undefined ? {} : { content }),
  };
}

function webhookOf(type: WebhookEventType): Json {
  const isChange = (CHANGE_EVENT_TYPES as readonly string[]).includes(type);
  return {
    operationId: `on_${type.replace('.', '_')}`,
    tags: ['Webhooks'],
    summary: `Sent to every webhook that subscribed to ${type}`,
    security: [],
    parameters: [
      {
        ...requestHeader(
          'X-Webhook-Delivery',
          'The id of the delivery. It stays the same when the delivery is attempted or sent again.',
        ),
        required: true,
      },
      requestHeader('X-Webhook-Signature', '`sha256=<hex>`, if the webhook has a secret.'),
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${isChange ? 'AnyEvent' : 'Event'}` },
          example: examples.eventOf(type),
        },
      },
    },
    responses: {
      '2XX': { description: 'Accepted. Anything else is retried.' },
      '4XX': { description: 'Retried.' },
    },
  };
}

function queryParameters(schema: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = jsonSchema(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: property,
  }));
}

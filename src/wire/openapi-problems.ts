import { STATUS_CODES } from 'node:http';
import type { Mistake } from '../domain/errors.ts';
import type { Operation } from './operations.ts';
import type { Problem } from './problem.ts';
import {
  EVERYWHERE,
  OF_A_BODY,
  OF_NO_OPERATION,
  REFUSALS,
  type Refusal,
  type RefusalName,
  STATUS_MEANINGS,
} from './refusals.ts';

type Json = Readonly<Record<string, unknown>>;

interface Place {
  readonly hasKey: boolean;
  readonly hasParameterInPath: boolean;
}

const CONTENT_TYPE = 'application/problem+json';
const SCHEMA = { $ref: '#/components/schemas/Problem' };
const RETRY_AFTER = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

/** The answers by which an operation is refused, by status, each with the codes it can have. */
export function problemResponses({ body, problems = [], mistakes }: Operation, place: Place): Json {
  const names: readonly RefusalName[] = [
    ...EVERYWHERE,
    ...(place.hasKey ? (['unauthorized'] as const) : []),
    ...(place.hasParameterInPath ? (['invalid_path'] as const) : []),
    ...(body === undefined ? [] : OF_A_BODY),
    ...problems,
  ];
  const statusOf = (name: RefusalName): number => REFUSALS[name].status;
  const statuses = [...new Set(names.map(statusOf))].sort((one, other) => one - other);
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      responseOf(
        status,
        names.filter((name) => statusOf(name) === status),
        mistakes,
      ),
    ]),
  );
}

/** What comes of a request that is for no operation, or when HTTP itself went wrong, or the service did. */
export function otherProblems(): Json {
  const statuses = OF_NO_OPERATION.map((name) => `${REFUSALS[name].status} \`${name}\``).join(', ');
  return {
    description: `Anything else: ${statuses}.`,
    content: { [CONTENT_TYPE]: { schema: SCHEMA, examples: Object.fromEntries(OF_NO_OPERATION.map(referenceTo)) } },
  };
}

/** Every problem by its name, for the answers to refer to. */
export function problemExamples(): Json {
  return Object.fromEntries(
    (Object.keys(REFUSALS) as RefusalName[]).map((name) => [
      name,
      { summary: REFUSALS[name].detail, value: problemOf(name) },
    ]),
  );
}

/** The problem document that a refusal is answered with. */
export function problemOf(name: RefusalName, mistakes?: readonly Mistake[]): Problem {
  const refusal: Refusal = REFUSALS[name];
  const [first, ...others] = mistakes ?? [];
  const detail =
    first === undefined
      ? refusal.detail
      : others.length === 0
        ? first.message
        : `The request has ${others.length + 1} mistakes.`;
  const errors = mistakes ?? refusal.errors;
  return {
    type: 'about:blank',
    title: STATUS_CODES[refusal.status] ?? '',
    status: refusal.status,
    detail,
    code: refusal.code ?? name,
    error: detail,
    ...(errors !== undefined && { errors }),
    ...(refusal.hint !== undefined && { hint: refusal.hint }),
    ...refusal.extra,
  };
}

function responseOf(status: number, names: readonly RefusalName[], mistakes: Operation['mistakes']): Json {
  const codes = [...new Set(names.map((name) => problemOf(name).code))];
  const hasToWait = status === 429 || names.includes('send_queue_full');
  return {
    description: `${STATUS_MEANINGS[status]} ${codes.map((code) => `\`${code}\``).join(', ')}`,
    ...(hasToWait && { headers: RETRY_AFTER }),
    content: {
      [CONTENT_TYPE]: {
        schema: { allOf: [SCHEMA, { properties: { status: { const: status }, code: { enum: codes } } }] },
        examples: Object.fromEntries(
          names.map((name) =>
            name === 'invalid_request' && mistakes !== undefined
              ? [name, { summary: 'Every mistake is named.', value: problemOf(name, mistakes) }]
              : referenceTo(name),
          ),
        ),
      },
    },
  };
}

function referenceTo(name: RefusalName): [string, Json] {
  return [name, { $ref: `#/components/examples/${name}` }];
}

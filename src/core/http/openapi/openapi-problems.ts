import type { AppError, AppErrorOptions } from '../../model/errors.ts';
import { invalidRequest, PROBLEMS, type ProblemName, type ProblemText, problemsOf } from '../../model/problems.ts';
import { type Problem, problemDocument } from '../problem-document.ts';
import type { Json } from './json-schema.ts';
import type { Operation } from './operation.ts';

/** Problems of the core, and of the features in the document. */
export type Catalogue = Readonly<Record<string, ProblemText>>;

function textOf(catalogue: Catalogue, name: string): ProblemText {
  const text = catalogue[name];
  if (text === undefined) throw new Error(`there is no problem ${name}`);
  return text;
}

interface RouteTraits {
  readonly hasKey: boolean;
  /** True if the operation needs a scope, which some keys lack. */
  readonly needsScope: boolean;
  readonly hasParameterInPath: boolean;
}

/** Problems of every operation. */
const EVERYWHERE: readonly ProblemName[] = [
  'invalid_request',
  'invalid_host',
  'host_not_allowed',
  'host_on_socket',
  'origin_not_allowed',
  'origin_on_socket',
  'rate_limited',
];

/** Problems of operations that read a body. */
const OF_A_BODY: readonly ProblemName[] = [
  'missing_body',
  'invalid_json',
  'invalid_utf8',
  'incomplete_body',
  'body_too_large',
  'chunk_extensions_too_large',
  'unsupported_media_type',
];

/**
 * Problems that belong to no operation: an unknown path, malformed HTTP, an internal error.
 */
const OF_NO_OPERATION: readonly ProblemName[] = [
  'not_found',
  'method_not_allowed',
  'invalid_http',
  'connect_not_supported',
  'request_timeout',
  'headers_too_large',
  'too_many_headers',
  'too_many_without_key',
  'internal_error',
];

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'Something in the request is wrong; `errors` names every mistake.',
  401: 'The key is missing or wrong.',
  403: 'The host name, the web page or the key of the request is not allowed.',
  404: 'Not found.',
  408: 'The request did not arrive in time.',
  409: 'Conflict with the current state.',
  410: 'The row id is higher than any in chat.db, events after the offset are no longer available, or the approval has expired.',
  413: 'The body is over 1 MiB, or a file over 100 MB.',
  415: 'The body is not JSON, or is compressed.',
  416: 'Range not satisfiable.',
  422: 'The `Idempotency-Key` was used for another request.',
  426: 'This path accepts WebSocket connections only.',
  429: 'Too many requests or sends; `Retry-After` says how long to wait.',
  501: 'This machine has no converter for the file.',
  502: 'Messages refused to send; its error number is in `messages_error`.',
  503: 'Not possible now; try again later.',
  507: 'There is no room for more uploads or held files.',
  504: 'It is not known whether the message was sent: check before sending again.',
};

const CONTENT_TYPE = 'application/problem+json';
const SCHEMA = { $ref: '#/components/schemas/Problem' };
const WITH_RETRY_AFTER: ReadonlySet<string> = new Set(['send_queue_full', 'too_many_uploads', 'conversion_busy']);
const RETRY_AFTER = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

/** Returns the responses for an operation's problems. Key: the HTTP status. Each response lists its possible codes. */
export function problemResponses(
  { body, problems = [], mistakes }: Operation,
  traits: RouteTraits,
  catalogue: Catalogue = PROBLEMS,
): Json {
  const names: readonly string[] = [
    ...EVERYWHERE,
    ...(traits.hasKey ? (['unauthorized', 'limited_key_refused', 'bearer_refused', 'key_rate_limited'] as const) : []),
    ...(traits.needsScope ? (['scope_missing'] as const) : []),
    ...(traits.hasParameterInPath ? (['invalid_path'] as const) : []),
    ...(body === undefined ? [] : OF_A_BODY),
    ...problems,
  ];
  const byStatus: Record<number, string[]> = {};
  for (const name of names) {
    const { status } = textOf(catalogue, name);
    byStatus[status] = [...(byStatus[status] ?? []), name];
  }
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, some]) => [status, responseOf(Number(status), some, mistakes, catalogue)]),
  );
}

/** Returns the response for requests that reach no operation. */
export function otherProblems(): Json {
  const statuses = OF_NO_OPERATION.map((name) => `${PROBLEMS[name].status} \`${exampleOf(name).code}\``).join(', ');
  return {
    description: `Anything else: ${statuses}.`,
    content: { [CONTENT_TYPE]: { schema: SCHEMA, examples: Object.fromEntries(OF_NO_OPERATION.map(referenceTo)) } },
  };
}

/** Returns an example of every problem. Key: the problem's name. The responses refer to these examples. */
export function problemExamples(catalogue: Catalogue = PROBLEMS): Json {
  const examples = Object.keys(catalogue).map((name) => [name, exampleOf(name, catalogue)] as const);
  return Object.fromEntries(examples.map(([name, value]) => [name, { summary: value.detail, value }]));
}

/** Returns the problem as a client receives it, with the catalogue's example values. */
function exampleOf(name: string, catalogue: Catalogue = PROBLEMS): Problem {
  const { example, extra = {} } = textOf(catalogue, name);
  const make = problemsOf(catalogue) as (
    name: string,
    values: ProblemText['example'],
    options: AppErrorOptions,
  ) => AppError;
  return problemDocument(make(name, example, { extra }));
}

function responseOf(
  status: number,
  names: readonly string[],
  mistakes: Operation['mistakes'],
  catalogue: Catalogue,
): Json {
  const codes = [...new Set(names.map((name) => exampleOf(name, catalogue).code))];
  const hasToWait = status === 429 || names.some((name) => WITH_RETRY_AFTER.has(name));
  return {
    description: `${MEANINGS[status]} ${codes.map((code) => `\`${code}\``).join(', ')}`,
    ...(hasToWait && { headers: RETRY_AFTER }),
    content: {
      [CONTENT_TYPE]: {
        schema: { allOf: [SCHEMA, { properties: { status: { const: status }, code: { enum: codes } } }] },
        examples: Object.fromEntries(
          names.map((name) =>
            name === 'invalid_request' && mistakes !== undefined
              ? [name, { summary: 'Every mistake is named.', value: problemDocument(invalidRequest(mistakes)) }]
              : referenceTo(name),
          ),
        ),
      },
    },
  };
}

function referenceTo(name: string): [string, Json] {
  return [name, { $ref: `#/components/examples/${name}` }];
}

import { AppError, type AppErrorOptions, type Mistake } from './errors.ts';
import { FILE_PROBLEMS } from './file-problems.ts';
import { GUEST_PROBLEMS } from './guest-problems.ts';
import { MESSAGES_PROBLEMS } from './messages-problems.ts';
import type { ProblemText } from './problem-text.ts';
import { WEBHOOK_PROBLEMS } from './webhook-problems.ts';

export type { ProblemText } from './problem-text.ts';

/**
 * The catalogue of all problems that the API can answer with (decision E2). Key: the problem's name. Errors and their
 * documentation are created from this catalogue.
 */
export const PROBLEMS = {
  ...GUEST_PROBLEMS,
  ...FILE_PROBLEMS,
  ...WEBHOOK_PROBLEMS,
  invalid_request: {
    status: 400,
    detail: '{summary}',
    pointer: '?limit',
    example: { summary: 'The query must be percent-encoded UTF-8 without a NUL character.' },
  },
  offset_of_another: {
    status: 400,
    code: 'invalid_request',
    detail: 'This offset comes from another kind of service, which serves many Macs.',
    hint: 'Continue at that service, or begin here without an offset.',
    pointer: '?after',
  },
  invalid_host: { status: 400, detail: 'The request must have exactly one Host header.', pointer: 'Host' },
  invalid_path: { status: 400, detail: 'Invalid path: it must begin with / and be percent-encoded UTF-8.' },
  invalid_http: { status: 400, detail: 'The request is not valid HTTP.' },
  connect_not_supported: { status: 400, code: 'invalid_request', detail: 'CONNECT is not supported.' },
  invalid_cursor: {
    status: 400,
    detail: 'Invalid cursor.',
    hint: 'Use the URL in the Link header of the previous page.',
    pointer: '?cursor',
  },
  missing_body: { status: 400, detail: 'The request has no body. Send a JSON object.' },
  invalid_json: {
    status: 400,
    detail: 'The body is not valid JSON{where}.',
    example: { where: ' at position 1' },
  },
  invalid_utf8: { status: 400, code: 'invalid_json', detail: 'The body is not valid UTF-8.' },
  incomplete_body: { status: 400, detail: 'The body did not arrive completely.' },
  bad_handshake: {
    status: 400,
    detail: 'Invalid WebSocket handshake: {reason}.',
    example: { reason: 'Missing or invalid Sec-WebSocket-Key header' },
  },
  attachment_changed: {
    status: 400,
    detail: 'The file has changed since the request arrived.',
    hint: 'Nothing was sent. Send the message again once the file is complete.',
    pointer: '/attachments/0',
  },
  unknown_conversation: {
    status: 400,
    detail: 'There is no conversation with this identifier.',
    hint: 'Nothing was sent. Use the whole id that a list of conversations shows, such as iMessage;+;chat123.',
    pointer: '/recipient',
  },
  unauthorized: {
    status: 401,
    detail: 'The API key is missing or wrong.',
    hint: 'Send the api_key of config.toml in the header X-API-Key; a WebSocket sends it as ?api_key= in its URL.',
  },
  bearer_refused: {
    status: 401,
    code: 'unauthorized',
    detail: 'This Bearer token is not a valid limited key.',
    hint: "Only limited keys are accepted as Bearer tokens. Send the owner's key in the header X-API-Key.",
  },
  limited_key_refused: {
    status: 401,
    code: 'unauthorized',
    detail: 'The limited key is missing or unknown, has expired, or was revoked.',
    hint: 'Only the owner can make a new one, with "postern keys add". Send it in the header X-API-Key.',
  },
  host_not_allowed: {
    status: 403,
    detail: 'This host name is not allowed.',
    hint: 'Use localhost or 127.0.0.1, or add the name to server.allowed_hosts.',
  },
  host_on_socket: {
    status: 403,
    code: 'host_not_allowed',
    detail: 'On the Unix socket, the Host header must be localhost.',
    hint: 'Use a URL that begins with http://localhost/.',
  },
  origin_not_allowed: {
    status: 403,
    detail: 'Requests from this web page are not allowed.',
    hint: 'To allow them, add its origin to server.allowed_origins.',
  },
  origin_on_socket: {
    status: 403,
    code: 'origin_not_allowed',
    detail: 'Requests from web pages are not allowed on the Unix socket.',
    hint: 'Leave out the headers Origin and Sec-Fetch-Site, or use the port.',
  },
  own_origin_required: {
    status: 403,
    code: 'origin_not_allowed',
    detail: 'Only the console of this service may sign in with a code.',
    hint: 'Programs send the key in the header X-API-Key.',
  },
  not_found: { status: 404, detail: 'There is no such path.' },
  not_available: { status: 404, detail: 'This service does not offer {what}.', example: { what: 'notes' } },
  send_later_unavailable: {
    status: 400,
    code: 'invalid_request',
    detail: 'This service sends only at once: `send_at` is not available.',
    pointer: '/send_at',
  },
  message_not_found: {
    status: 404,
    detail: 'There is no message with this id.',
    hint: 'The id is the row id that a list of messages shows.',
  },
  attachment_not_found: {
    status: 404,
    detail: 'There is no such attachment on this machine.',
    hint: 'Attachments are counted from 0. One that is only in iCloud must be downloaded in Messages first.',
  },
  conversation_not_found: {
    status: 404,
    detail: 'There is no conversation with this id.',
    hint: 'The id is the whole chat guid that a list of conversations shows.',
  },
  changes_disabled: {
    status: 404,
    detail: 'Changes of existing messages are not detected here.',
    hint: 'Set changes.enabled to "auto" or true in config.toml and restart the service.',
  },
  method_not_allowed: {
    status: 405,
    detail: 'This path allows {methods}.',
    example: { methods: 'GET, HEAD' },
  },
  request_timeout: { status: 408, detail: 'The request did not arrive in time.' },
  after_unknown: {
    status: 410,
    detail: 'There is no event after row {after}: the Messages database was replaced, or ends at row {highest}.',
    hint: 'Start again without `after`, or with `highest_row_id`.',
    example: { after: 999999, highest: 9 },
    extra: { highest_row_id: 9 },
  },
  offset_expired: {
    status: 410,
    detail: 'The changes after this offset are no longer known.',
    hint: 'Read the messages again, then continue from the offset in `latest`.',
    extra: { latest: 'MS4xLjExOTUuMTc' },
  },
  body_too_large: { status: 413, detail: 'The body must not be larger than {limit}.', example: { limit: '1 MiB' } },
  chunk_extensions_too_large: {
    status: 413,
    code: 'body_too_large',
    detail: 'The chunk extensions of the body are too large.',
  },
  unsupported_media_type: {
    status: 415,
    detail: 'The body must be JSON in UTF-8.',
    hint: 'Send it uncompressed with the header Content-Type: application/json.',
  },
  range_not_satisfiable: {
    status: 416,
    detail: 'Range not satisfiable: the file has {bytes} bytes.',
    example: { bytes: 4096 },
  },
  idempotency_key_reused: {
    status: 422,
    detail: 'This Idempotency-Key was used for another request.',
    hint: 'Use a new key for every message.',
  },
  upgrade_required: { status: 426, detail: 'This path accepts WebSocket connections only.' },
  rate_limited: {
    status: 429,
    detail: 'Too many requests: try again in {seconds} s.',
    hint: 'All clients share server.rate_limit_per_minute of config.toml; a client that reads a stream or waits for events needs few requests.',
    example: { seconds: 42 },
  },
  too_many_headers: {
    status: 431,
    code: 'headers_too_large',
    detail: 'A request must not have more than 200 header lines.',
  },
  headers_too_large: { status: 431, detail: 'The URL and the headers must not exceed 16 KiB.' },
  internal_error: {
    status: 500,
    mayHaveBeenSent: true,
    detail: 'Internal error.',
    hint: 'The log of the service has the cause, under the X-Request-Id of this answer.',
  },
  ...MESSAGES_PROBLEMS,
  too_many_without_key: {
    status: 503,
    mayHaveBeenSent: false,
    detail:
      'Too many requests without a key: 256 are running, or their answers have not been read yet. Try again in {seconds} s.',
    example: { seconds: 5 },
  },
  disk_full: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The disk is full: Postern cannot write to state.db.',
    hint: 'Nothing was sent or changed. Make room on the disk, then try again.',
  },
  state_db_unavailable: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'Postern cannot write to state.db ({code}).',
    hint: 'Check the disk. The log of the service has the cause, under the X-Request-Id of this answer.',
    example: { code: 'SQLITE_IOERR' },
  },
  shutting_down: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'The service is shutting down.',
    hint: 'Try again when it is running again.',
  },
} as const satisfies Readonly<Record<string, ProblemText>>;

export type ProblemName = keyof typeof PROBLEMS;

/** Returns the names of the core's problems with this code. */
export function namesOf(code: string): readonly ProblemName[] {
  const entries = Object.entries(PROBLEMS) as [ProblemName, ProblemText][];
  return entries.filter(([name, text]) => (text.code ?? name) === code).map(([name]) => name);
}

type Placeholder<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Placeholder<Rest> : never;
type Catalogue = Readonly<Record<string, ProblemText>>;

/** The core's catalogue, and that of each feature of this program. */
const CATALOGUES = new Set<Catalogue>();

/** Returns the texts of all problems with this code: one code can have several causes, each with its own sentence. */
export function problemTexts(code: string): readonly ProblemText[] {
  const entries = [...CATALOGUES].flatMap((catalogue) => Object.entries(catalogue));
  return entries.filter(([name, text]) => (text.code ?? name) === code).map(([, text]) => text);
}

type Given<Text extends string> =
  Placeholder<Text> extends never
    ? [values?: Readonly<Record<string, never>>, options?: AppErrorOptions]
    : [values: Readonly<Record<Placeholder<Text>, string | number>>, options?: AppErrorOptions];

/** Creates the error for a problem of a catalogue. */
export type MakeProblem<Known extends Catalogue> = <Name extends keyof Known & string>(
  name: Name,
  ...given: Given<Known[Name]['detail']>
) => AppError;

/** Returns the function that creates the errors for a catalogue. `values` replace the placeholders in a `detail`. */
export function problemsOf<Known extends Catalogue>(catalogue: Known): MakeProblem<Known> {
  CATALOGUES.add(catalogue);
  return (name, ...[values, options]) => {
    const { status, code = name, detail, hint, pointer = '' }: ProblemText = catalogue[name] as ProblemText;
    const filled = detail.replace(/\{(\w+)\}/g, (_, key: string) => String((values as ProblemText['example'])?.[key]));
    const mistakes = options?.mistakes ?? (status === 400 || pointer !== '' ? [{ pointer, message: filled }] : []);
    return new AppError(code, filled, { ...(hint !== undefined && { hint }), ...options, status, mistakes });
  };
}

/** Creates the error for a problem of the core's catalogue. */
export const problem = problemsOf(PROBLEMS);

/** Creates the problem that names every mistake of a request. */
export function invalidRequest(mistakes: readonly Mistake[]): AppError {
  const [first, ...others] = mistakes;
  const isOne = first !== undefined && others.length === 0;
  const summary = isOne ? first.message : `The request has ${mistakes.length} mistakes.`;
  return problem('invalid_request', { summary }, { mistakes });
}

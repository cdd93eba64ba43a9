import type { Mistake } from '../domain/errors.ts';

/** One way in which a request can be refused, as the service says it of the simulated Mac. */
export interface Refusal {
  readonly status: number;
  /** Where it is not the name in the table. */
  readonly code?: string;
  readonly detail: string;
  readonly hint?: string;
  readonly errors?: readonly Mistake[];
  /** Members that this code adds. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

const wholeBody = (status: number, detail: string): Refusal => ({
  status,
  detail,
  errors: [{ pointer: '', message: detail }],
});

/** Every problem that an operation can answer (E2), by its code. */
export const REFUSALS = {
  invalid_request: {
    status: 400,
    detail: 'The query must be percent-encoded UTF-8 without a NUL character.',
    errors: [{ pointer: '?limit', message: 'The query must be percent-encoded UTF-8 without a NUL character.' }],
  },
  invalid_host: {
    status: 400,
    detail: 'The request must have exactly one Host header.',
    errors: [{ pointer: 'Host', message: 'There must be exactly one Host header.' }],
  },
  invalid_path: wholeBody(400, 'The path is not one: it must begin with / and be percent-encoded UTF-8.'),
  invalid_http: wholeBody(400, 'The request is not valid HTTP.'),
  invalid_cursor: {
    status: 400,
    detail: 'The cursor is not one that this service gave.',
    errors: [{ pointer: '?cursor', message: 'is not a cursor of this list' }],
  },
  missing_body: wholeBody(400, 'The request has no body: it must be a JSON object.'),
  invalid_json: wholeBody(400, 'The body is not valid JSON at position 1.'),
  incomplete_body: wholeBody(400, 'The body did not arrive completely.'),
  bad_handshake: wholeBody(400, 'Invalid WebSocket handshake: Missing or invalid Sec-WebSocket-Key header.'),
  unauthorized: {
    status: 401,
    detail: 'The API key is missing or wrong.',
    hint: 'Send the api_key of config.toml in the header X-API-Key; a WebSocket sends it as ?api_key= in its URL.',
  },
  host_not_allowed: {
    status: 403,
    detail: 'The service does not answer to this host name.',
    hint: 'Use localhost or 127.0.0.1, or add the name to server.allowed_hosts.',
  },
  origin_not_allowed: {
    status: 403,
    detail: 'This web page may not use the service.',
    hint: 'Add its origin to server.allowed_origins if it should.',
  },
  not_found: { status: 404, detail: 'There is no such path.' },
  message_not_found: {
    status: 404,
    detail: 'There is no message with this id.',
    hint: 'The id is the row id that a list of messages shows.',
  },
  attachment_not_found: {
    status: 404,
    detail: 'There is no such attachment on this machine.',
    hint: 'Attachments are counted from 0; one that is only in iCloud must be downloaded in Messages first.',
  },
  conversation_not_found: {
    status: 404,
    detail: 'There is no conversation with this id.',
    hint: 'The id is the whole chat guid that a list of conversations shows.',
  },
  webhook_not_found: { status: 404, detail: 'There is no webhook with this id.' },
  method_not_allowed: { status: 405, detail: 'This path allows GET, HEAD.' },
  request_timeout: { status: 408, detail: 'The request did not arrive in time.' },
  too_many_webhooks: {
    status: 409,
    detail: 'There are 64 webhooks already.',
    hint: 'Delete one that is no longer needed.',
  },
  send_in_progress: {
    status: 409,
    detail: 'A send with this Idempotency-Key is still running.',
    hint: 'Ask again with the same key in a few seconds.',
  },
  send_interrupted: {
    status: 409,
    code: 'send_outcome_unknown',
    detail: 'It is not known whether the message was sent.',
    hint: 'Look in Messages before sending it again.',
  },
  after_unknown: {
    status: 410,
    detail: 'There is no row 999999: the highest row id is 9.',
    hint: 'The messages database was probably replaced. Start again without "after", or with the highest row id.',
    extra: { highest_row_id: 9 },
  },
  body_too_large: { status: 413, detail: 'The body must not be larger than 1 MiB.' },
  unsupported_media_type: {
    status: 415,
    detail: 'The body must be JSON in UTF-8.',
    hint: 'Send it uncompressed with the header Content-Type: application/json.',
  },
  range_not_satisfiable: { status: 416, detail: 'The file has 4096 bytes.' },
  idempotency_key_reused: {
    status: 422,
    detail: 'This Idempotency-Key was used for another request.',
    hint: 'Use a new key for every message.',
  },
  upgrade_required: { status: 426, detail: 'This path speaks WebSocket only.' },
  rate_limited: { status: 429, detail: 'Too many requests: try again in 42 s.' },
  headers_too_large: { status: 431, detail: 'The URL and the headers must not exceed 16 KiB.' },
  internal_error: { status: 500, detail: 'Something went wrong inside the service.' },
  send_failed: {
    status: 502,
    detail: 'Messages refused to send (error -10000).',
    hint: 'Check the recipient, and that Messages is signed in to the service it is reached by.',
    extra: { messages_error: -10000 },
  },
  chat_db_unavailable: {
    status: 503,
    detail: 'There is no Messages database at the configured path.',
    hint: 'Open Messages and sign in once, or set backend.chat_db_path.',
  },
  messages_unavailable: {
    status: 503,
    detail: 'Postern is not allowed to control Messages.',
    hint: 'In System Settings, under Privacy & Security > Automation, switch on Messages below Postern.',
    extra: { messages_error: -1743 },
  },
  send_queue_full: {
    status: 503,
    detail: 'More than 100 sends are waiting already.',
    hint: 'Nothing was sent. Try again later.',
  },
  shutting_down: { status: 503, detail: 'The service is shutting down.' },
  send_outcome_unknown: {
    status: 504,
    detail: 'It is not known whether the message was sent.',
    hint: 'Look in Messages before sending it again.',
    extra: { messages_error: -1712 },
  },
} as const satisfies Readonly<Record<string, Refusal>>;

/** A name in the table of refusals. */
export type RefusalName = keyof typeof REFUSALS;

/** Where every operation can be refused. */
export const EVERYWHERE: readonly RefusalName[] = [
  'invalid_request',
  'invalid_host',
  'host_not_allowed',
  'origin_not_allowed',
  'rate_limited',
];

/** What is no answer of any operation: there is none, HTTP itself went wrong, or the service did. */
export const OF_NO_OPERATION: readonly RefusalName[] = [
  'not_found',
  'method_not_allowed',
  'invalid_http',
  'request_timeout',
  'headers_too_large',
  'internal_error',
];

/** Where a body is read. */
export const OF_A_BODY: readonly RefusalName[] = [
  'missing_body',
  'invalid_json',
  'incomplete_body',
  'body_too_large',
  'unsupported_media_type',
];

/** What a status means to the reader of the document. */
export const STATUS_MEANINGS: Readonly<Record<number, string>> = {
  400: 'Something in the request is wrong; `errors` names every mistake.',
  401: 'The key is missing or wrong.',
  403: 'The request came under a foreign host name or from a foreign web page.',
  404: 'There is no such thing.',
  409: 'It conflicts with what is there.',
  410: 'That row id lies above every row there is.',
  413: 'The body is over 1 MiB.',
  415: 'The body is not JSON.',
  416: 'The range cannot be had.',
  422: 'The Idempotency-Key was used for another request.',
  426: 'This path speaks WebSocket only.',
  429: 'Too many requests in the running minute; `Retry-After` says how long to wait.',
  502: 'Messages refused to send; its error number is in `messages_error`.',
  503: 'It cannot be done now; trying later makes sense.',
  504: 'Nobody knows whether the message was sent: look before sending again.',
};

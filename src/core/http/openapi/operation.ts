import type * as z from 'zod';
import type { Mistake } from '../../model/errors.ts';
import { namesOf, type ProblemName } from '../../model/problems.ts';

/** The name of a problem of the feature that the operation belongs to. */
export type OwnProblem = string & { readonly own?: never };

/**
 * The OpenAPI description of one operation, without the method, the path and the place of the key (see
 * `Resource.routes`).
 */
export interface Operation {
  readonly tag:
    | 'Service'
    | 'Messages'
    | 'Conversations'
    | 'Contacts'
    | 'Events'
    | 'Webhooks'
    | 'Keys'
    | 'Approvals'
    | 'Agents';
  readonly summary: string;
  /** Two to four sentences. */
  readonly description: string;
  readonly query?: z.ZodObject;
  readonly headers?: readonly Readonly<Record<string, unknown>>[];
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown };
  /** Schemas of request bodies that are not JSON. Key: the media type. */
  readonly files?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Answers to successful requests. Key: the HTTP status. */
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /**
   * Problems of this operation. Omits those that `problemResponses` adds: the problems of its route, of its body and of
   * every operation.
   */
  readonly problems?: readonly (ProblemName | OwnProblem)[];
  /** Example mistakes in a request, for the documented `invalid_request` problem. */
  readonly mistakes?: readonly Mistake[];
}

export interface OperationAnswer {
  readonly description: string;
  /** Name of the schema of the answer's JSON, as in the OpenAPI document. */
  readonly schema?: string;
  readonly isList?: boolean;
  readonly example?: unknown;
  /** Several examples, used instead of `example`. Key: the example's name. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
  /**
   * Content type of an answer that is text or a file. If `schema` is also set, the operation can answer with either.
   */
  readonly type?: string;
  /** Content types in which the operation can also answer with an endless stream. */
  readonly streams?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** The header of an answer that is one page of a list. */
export const NEXT = { Link: '`<?…>; rel="next"` when there may be more. Relative to the URL of the request.' };
/** The answer to a request for one page of a list. */
export function onePage(schema: string, example: unknown) {
  return { 200: { description: 'One page.', schema, isList: true, example: [example], headers: NEXT } } as const;
}

/** A header of a request, which holds a text. */
export function requestHeader(name: string, description: string) {
  return { name, in: 'header', description, schema: { type: 'string' } } as const;
}

/** Header of an answer that created something. */
export const MADE = { Location: 'URL of the new resource, relative to the URL of the request.' };
/** An example of a mistake in the number of items that a list is asked for. */
export const LIMIT_MISTAKE = { pointer: '?limit', message: 'The parameter `limit` must be a whole number, 1 or more.' };

/** Problems of operations that read chat.db. */
export const CHAT_DB = [...namesOf('chat_db_unavailable'), 'index_missing'] as const;
/** Problems of operations that write to state.db. */
export const STATE_DB = ['disk_full', 'state_db_unavailable'] as const;
/** Problems of operations that write a message. */
export const SENDING = [
  ...namesOf('send_failed'),
  'misdirected',
  ...namesOf('messages_unavailable'),
  'send_queue_full',
  'shutting_down',
  'send_outcome_unknown',
] as const;

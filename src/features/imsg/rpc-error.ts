import { isPosternError, type PosternError } from '../../client/postern-client.ts';
import { mayHaveSent } from '../../core/cli/failed-send.ts';

/** Codes of JSON-RPC, and codes that imsg adds. */
export const RPC = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  busy: -32_000,
  mayHaveCompleted: -32_001,
  databaseAway: -32_002,
} as const;

/** An error with which a JSON-RPC request is answered. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown = message) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Problems that allow the client to repeat the same send, if nothing was sent. */
const TRY_AGAIN: ReadonlySet<string> = new Set([
  'unreachable',
  'messages_unavailable',
  'chat_db_unavailable',
  'send_queue_full',
  'rate_limited',
  'too_many_without_key',
  'shutting_down',
  'disk_full',
  'state_db_unavailable',
]);

/**
 * Returns the error for a failed send that certainly sent nothing. `isSafe` tells the client that it may repeat the
 * send.
 */
export function notStarted(detail: string, isSafe: boolean): RpcError {
  return new RpcError(RPC.internal, detail, {
    disposition: 'not_started',
    retry_safe: isSafe,
    transport: 'applescript',
    operation: 'send',
    detail,
  });
}

/** Returns the error for a send that failed. */
export function sendError(error: unknown): unknown {
  if (!isPosternError(error)) return error;
  const detail = sentencesOf(error);
  if (!mayHaveSent(error)) return notStarted(detail, TRY_AGAIN.has(error.code));
  const data = { transport: 'applescript', operation: 'send', detail };
  return new RpcError(RPC.mayHaveCompleted, detail, {
    disposition: 'may_have_completed',
    retry_safe: false,
    ...data,
  });
}

/** Returns the error for a read that failed. */
export function readError(error: unknown): unknown {
  if (!isPosternError(error)) return error;
  const { code, status } = error;
  const isAway = code === 'chat_db_unavailable' || code === 'unreachable' || code === 'rate_limited';
  const isMistake = status === 400 || status === 404;
  const number = isAway ? RPC.databaseAway : isMistake ? RPC.invalidParams : RPC.internal;
  return new RpcError(number, sentencesOf(error));
}

function sentencesOf({ message, hint }: PosternError): string {
  return hint === undefined ? message : `${message} ${hint}`;
}

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { isAppError } from '../../../core/model/errors.ts';
import type { Log } from '../../../core/model/ports/host-ports.ts';
import { EVENT_ERRORS } from '../subscriptions/subscription.ts';

// The errors of MCP Events.

export function invalidParams(mistakes: readonly string[]): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, mistakes.join(' '), { mistakes });
}

export function unknownEvent(): ProtocolError {
  const message = 'There is no event with this name. events/list returns all names.';
  return new ProtocolError(EVENT_ERRORS.notFound, message, { kind: 'event' });
}

export function unsupportedMode(value: string): ProtocolError {
  const message =
    'The only delivery mode of a subscription is "webhook"; events/poll and events/stream need no subscription.';
  return new ProtocolError(EVENT_ERRORS.unsupported, message, { feature: 'deliveryMode', value });
}

export function forbidden(reason: string, message: string): ProtocolError {
  return new ProtocolError(EVENT_ERRORS.forbidden, message, { reason });
}

/** Converts any error to one of the protocol. Logs what is no AppError, and hides its details from the client. */
export function eventError(error: unknown, log: Log): ProtocolError {
  if (ProtocolError.isInstance(error)) return error;
  if (!isAppError(error)) {
    log.error('a request for events failed', { error });
    return internal("Internal error. The service's log has the cause.", 'internal_error');
  }
  const { code, status, hint, extra } = error;
  const message = hint === undefined ? error.message : `${error.message} ${hint}`;
  if (code === 'callback_failed') return new ProtocolError(EVENT_ERRORS.callback, message, extra);
  if (code === 'too_many_webhooks') return exhausted(message, 'subscriptions');
  if (code === 'too_many_streams') return exhausted(message, 'streams');
  if (status === 400) return invalidParams([message]);
  if (status === 401 || status === 403) return forbidden(code, message);
  return internal(message, code);
}

function exhausted(message: string, limit: string): ProtocolError {
  return new ProtocolError(EVENT_ERRORS.exhausted, message, { limit });
}

function internal(message: string, reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message, { reason });
}

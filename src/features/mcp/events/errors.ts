import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { isAppError } from '../../../core/model/errors.ts';
import type { Log } from '../../../core/model/ports/host-ports.ts';
import { EVENT_ERRORS } from '../subscriptions/subscription.ts';

/** Creates the errors of MCP Events. */
export class EventErrors {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  invalid(mistakes: readonly string[]): ProtocolError {
    return new ProtocolError(ProtocolErrorCode.InvalidParams, mistakes.join(' '), { mistakes });
  }

  unknownEvent(): ProtocolError {
    return new ProtocolError(
      EVENT_ERRORS.notFound,
      'There is no event with this name. events/list returns all names.',
      {
        kind: 'event',
      },
    );
  }

  unsupportedMode(value: string): ProtocolError {
    const message =
      'The only delivery mode of a subscription is "webhook"; events/poll and events/stream need no subscription.';
    return new ProtocolError(EVENT_ERRORS.unsupported, message, { feature: 'deliveryMode', value });
  }

  forbidden(reason: string, message: string): ProtocolError {
    return new ProtocolError(EVENT_ERRORS.forbidden, message, { reason });
  }

  /** Converts an AppError to an error of the protocol. Logs any other error, and hides its details from the client. */
  of(error: unknown): ProtocolError {
    if (ProtocolError.isInstance(error)) return error;
    if (!isAppError(error)) {
      this.#log.error('a request for events failed', { error });
      return internal("Internal error. The service's log has the cause.", 'internal_error');
    }
    const { code, status, hint, extra } = error;
    const message = hint === undefined ? error.message : `${error.message} ${hint}`;
    if (code === 'callback_failed') return new ProtocolError(EVENT_ERRORS.callback, message, extra);
    if (code === 'too_many_webhooks') return this.#exhausted(message, 'subscriptions');
    if (code === 'too_many_streams') return this.#exhausted(message, 'streams');
    if (status === 400) return this.invalid([message]);
    if (status === 401 || status === 403) return this.forbidden(code, message);
    return internal(message, code);
  }

  #exhausted(message: string, limit: string): ProtocolError {
    return new ProtocolError(EVENT_ERRORS.exhausted, message, { limit });
  }
}

function internal(message: string, reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message, { reason });
}

import type { KnownChat, SendRequest } from '../model/ports/sending-ports.ts';
import { problem } from '../model/problems.ts';
import { type Service, type ServiceReason, serviceNamed } from '../model/send-service.ts';
import { isGroup, type Plan, plan, planBy, typedService } from './attempts.ts';
import type { TolerantLookup } from './tolerant-lookup.ts';

/** The plan of a send, and the reason for the service that it uses. */
export interface ChosenPlan {
  readonly plan: Plan;
  /**
   * The reason for the plan's service. Absent if the request asks for neither a service nor a fallback: decision T1
   * alone then determines the service.
   */
  readonly reason?: ServiceReason;
  /**
   * The plan for sending by SMS, tried if nothing was sent or the row has an error. Absent unless the request asks for
   * it.
   */
  readonly fallback?: Plan;
}

type Asked = Pick<SendRequest, 'recipient' | 'service' | 'fallback'>;

/**
 * Returns the plan for the service that a send chose (decision X3). Throws `service_not_possible` if the recipient's id
 * begins with another service than the requested one. For a group, also throws it if the send asks for a fallback or
 * for another service than the group's.
 */
export function chosenPlan(
  asked: Asked,
  chats: readonly KnownChat[],
  lookup: Pick<TolerantLookup, 'newestServiceTo'>,
): ChosenPlan {
  const { recipient, fallback } = asked;
  // A request with `fallback` but without `service` counts as `auto`: Postern chooses the service.
  const service = asked.service ?? (fallback === undefined ? undefined : 'auto');
  if (service === undefined) return { plan: plan(recipient, chats) };
  assertPossible(asked, chats);
  const wanted = serviceNamed(service);
  const chosen =
    wanted === undefined
      ? automatic(recipient, chats, lookup)
      : { plan: byService(wanted, recipient, chats), reason: 'asked' as const };
  return fallback === undefined ? chosen : { ...chosen, fallback: planBy('SMS', recipient, chats) };
}

function automatic(
  recipient: string,
  chats: readonly KnownChat[],
  lookup: Pick<TolerantLookup, 'newestServiceTo'>,
): ChosenPlan {
  const usual = plan(recipient, chats);
  if (typedService(recipient) !== undefined) return { plan: usual, reason: 'asked' };
  if (chats.length > 0) return { plan: usual, reason: 'conversation' };
  const service = serviceNamed(lookup.newestServiceTo(recipient));
  if (service === undefined) return { plan: usual, reason: 'default' };
  return { plan: planBy(service, recipient, chats), reason: 'history' };
}

/**
 * Returns the plan for a send by a requested service. For a group, the requested service is the group's own, because
 * `assertPossible` has refused every other.
 */
function byService(service: Service, recipient: string, chats: readonly KnownChat[]): Plan {
  return isGroup(recipient, chats) ? plan(recipient, chats) : planBy(service, recipient, chats);
}

function assertPossible({ recipient, service, fallback }: Asked, chats: readonly KnownChat[]): void {
  const wanted = serviceNamed(service);
  if (isGroup(recipient, chats)) {
    const own = serviceNamed(chats[0]?.service) ?? typedService(recipient);
    if (fallback !== undefined) throw notPossible('/fallback', 'A group has no other service to fall back to.');
    if (wanted !== undefined && own !== wanted) {
      throw notPossible('/service', 'The service of a group cannot be chosen.');
    }
  }
  const typed = typedService(recipient);
  if (wanted !== undefined && typed !== undefined && typed !== wanted) {
    throw notPossible('/service', 'The id in `recipient` begins with another service than the one in `service`.');
  }
}

function notPossible(pointer: string, message: string) {
  return problem('service_not_possible', { reason: message }, { mistakes: [{ pointer, message }] });
}

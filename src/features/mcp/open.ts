import type { ValuesOf } from '../../core/config/setting.ts';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { localTimeZone } from '../../core/runtime/clock.ts';
import { mcpCalls } from './calls.ts';
import { lazyMcpService } from './lazy-service.ts';
import { LazySubscriptions } from './lazy-subscriptions.ts';
import { MCP } from './port.ts';
import type { MCP_SETTINGS } from './settings.ts';
import { endForbidden, limitedSubscriptions } from './subscriptions/limited-subscriptions.ts';
import type { Subscriptions } from './subscriptions/ports.ts';
import { type CallersSubscriptions, SUBSCRIPTIONS } from './subscriptions-port.ts';

/** Serves MCP. Its modules are loaded by the first request, and by a stored subscription. */
export function openMcp(core: Core, settings: ValuesOf<typeof MCP_SETTINGS>): Running {
  const { host, counters, feed, guests, ports } = core;
  const { clock, log, version, features, cli } = host;
  const service = lazyMcpService({
    clock,
    log,
    counters,
    version,
    cli,
    features,
    timeZone: () => localTimeZone(),
  });
  ports.provide(MCP, mcpCalls(service, settings));
  const subscriptions = new LazySubscriptions({
    ...core,
    feed,
    callerOf: (keyId) => guests.callerOf(keyId),
  });
  const only = (own?: Subscriptions): CallersSubscriptions => ({
    own,
    ofKey: (key) => only(limitedSubscriptions({ ...core, subscriptions }, key)),
  });
  ports.provide(SUBSCRIPTIONS, only());
  guests.onChange((key) => endForbidden(subscriptions, key));
  return {
    start: () => subscriptions.start(),
    close: async () => void (await Promise.all([service.close(), subscriptions.close()])),
  };
}

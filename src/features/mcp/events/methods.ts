import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { completedFor } from '../../../core/model/command-words.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import type { ServerParts } from '../server-parts.ts';
import type { Subscriptions } from '../subscriptions/ports.ts';
import type { SubscriptionGrant } from '../subscriptions/subscription.ts';
import { SUBSCRIPTIONS } from '../subscriptions-port.ts';
import { catalogue } from './catalogue.ts';
import { eventError, forbidden } from './errors.ts';
import { pollParams, streamParams, subscriptionParams, targetParams } from './params.ts';
import { poll } from './poll.ts';
import { stream } from './stream.ts';

/**
 * Declares the capability twice: under `extensions`, which is its proper key, and under `events`. ChatGPT and the draft
 * of the protocol expect it under `events`.
 */
export const EVENT_CAPABILITIES = {
  extensions: { 'io.modelcontextprotocol/events': { listChanged: false } },
  events: {},
};

const ANY = { params: z.unknown() };

/** Adds the methods of MCP Events (decision Y3). They use the caller's feed and subscriptions. */
export function addEventMethods({ server }: McpServer, parts: ServerParts): void {
  const { caller } = parts.request;
  const add = (method: string, answer: (given: unknown, call: ServerContext) => object | Promise<object>): void =>
    server.setRequestHandler(`events/${method}`, ANY, async (given, call) => {
      try {
        return { ...(await answer(given, call)) };
      } catch (error) {
        throw eventError(error, parts.log);
      }
    });
  add('list', () => catalogue(caller));
  add('poll', (given) => poll(pollParams(given), parts));
  add('stream', (given, call) => stream(streamParams(given), call, parts));
  add('subscribe', async (given) => shown(await subscriptionsOf(parts).subscribe(subscriptionParams(given))));
  add('unsubscribe', async (given) => {
    // A client may end a subscription that has already lapsed; this is not an error.
    await subscriptionsOf(parts).unsubscribe(targetParams(given));
    return {};
  });
}

function subscriptionsOf({ request, cli }: ServerParts): Subscriptions {
  const { own } = request.caller.port(SUBSCRIPTIONS);
  if (own !== undefined) return own;
  const message = 'Events are posted only for a limited key. Create one with "postern keys add".';
  throw forbidden('owner_key', completedFor(request.caller, message, cli));
}

function shown({ id, refreshBeforeMs, cursor, truncated, health }: SubscriptionGrant): object {
  const grant = { id, refreshBefore: isoSecond(refreshBeforeMs), cursor, truncated };
  if (health === undefined) return grant;
  const { lastDeliveryMs, lastError, failedSinceMs } = health;
  return {
    ...grant,
    deliveryStatus: {
      active: true,
      lastDeliveryAt: lastDeliveryMs === null ? null : isoSecond(lastDeliveryMs),
      lastError,
      ...(failedSinceMs !== null && { failedSince: isoSecond(failedSinceMs) }),
    },
  };
}

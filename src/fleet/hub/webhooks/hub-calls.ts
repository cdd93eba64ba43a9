import { randomUUID } from 'node:crypto';
import {
  type Msg,
  type NatsConnection,
  NoRespondersError,
  headers as newHeaders,
  type Subscription,
} from '@nats-io/nats-core';
import type { Log } from '../../../domain/ports/host.ts';
import { problem } from '../../../domain/problems.ts';
import { HEADERS, HUB_CALL, HUB_NEWS } from '../../protocol/layout.ts';
import { fromHubProblem, toProblem } from '../../protocol/requests.ts';
import type { HubSeal } from './hub-seal.ts';

/** Limits of a call in milliseconds. A test and a removal wait for a receiver; what only reads waits for nothing. */
const CALL_MS = {
  add: 8000,
  change: 8000,
  replay: 8000,
  remove: 15_000,
  test: 15_000,
  status: 2000,
  deliveries: 2000,
  lastDelivery: 2000,
} as const;

/** The methods of a WebhookRegistry that only the delivering hub can perform. */
export type HubCallMethod = keyof typeof CALL_MS;

export interface HubCallsParts {
  readonly nc: () => NatsConnection;
  readonly seal: HubSeal;
  readonly log: Log;
  /** Performs a call here. Returns undefined while this hub does not deliver. */
  readonly perform: (method: HubCallMethod, args: readonly unknown[]) => Promise<unknown> | undefined;
}

export const RETRY = { headers: { 'Retry-After': '5' } } as const;

/** Calls on the webhooks, from any hub to the one that delivers. */
export class HubCalls {
  readonly #parts: HubCallsParts;
  #subscription: Subscription | undefined;

  constructor(parts: HubCallsParts) {
    this.#parts = parts;
  }

  /** Answers calls from now on. */
  listen(): void {
    this.#subscription ??= this.#parts.nc().subscribe(HUB_CALL, {
      callback: (error, message) => {
        if (error === null) void this.#answer(message);
      },
    });
  }

  unlisten(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
  }

  /** Tells the other hubs that settings have changed. */
  tell(): void {
    this.#parts.nc().publish(HUB_NEWS);
  }

  /** Throws what the delivering hub threw, or 503 `webhooks_unavailable` if there is none. */
  async ask(method: HubCallMethod, args: readonly unknown[]): Promise<unknown> {
    const { nc, seal, log } = this.#parts;
    const id = randomUUID();
    const headers = newHeaders();
    headers.set(HEADERS.messageId, id);
    let reply: Msg;
    try {
      const call = seal.seal(['call', id], { method, args });
      reply = await nc().request(HUB_CALL, call, { timeout: CALL_MS[method], headers });
    } catch (error) {
      if (!(error instanceof NoRespondersError)) log.warn('a call to another hub failed', { method, error });
      throw problem('webhooks_unavailable', {}, { ...RETRY, cause: error });
    }
    const answer = seal.open(['answer', id], reply.data) as { readonly result?: unknown; readonly problem?: unknown };
    if (answer.problem !== undefined) throw fromHubProblem(answer.problem);
    return answer.result ?? undefined;
  }

  async #answer(message: Msg): Promise<void> {
    const { seal, perform, log } = this.#parts;
    const id = message.headers?.get(HEADERS.messageId) ?? '';
    let reply: unknown;
    try {
      const call = seal.open(['call', id], message.data) as { method: HubCallMethod; args: readonly unknown[] };
      const performed = perform(call.method, call.args);
      // The hub that delivers now will answer.
      if (performed === undefined) return;
      reply = { result: (await performed) ?? null };
    } catch (error) {
      log.debug('a call from another hub failed', { error });
      reply = { problem: toProblem(error) };
    }
    message.respond(seal.seal(['answer', id], reply));
  }
}

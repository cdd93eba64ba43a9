import type { Msg, Subscription } from '@nats-io/nats-core';
import { problem } from '../../../../core/model/problems.ts';
import { HUBS } from '../../protocol/envelope.ts';
import { HUB_CALL, HUB_NEWS } from '../../protocol/layout.ts';
import { exchange, fromHubProblem, type Reply, readQuestion, respond, toProblem } from '../../protocol/requests.ts';
import type { HubParts } from '../hub-parts.ts';

/**
 * Time limits of calls in milliseconds. A test and a removal wait for the receiver of the webhook; a read waits for
 * nothing.
 */
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
const OPERATION = 'call';

/** The methods of a WebhookRegistry that only the delivering hub can perform. */
export type HubCallMethod = keyof typeof CALL_MS;

export interface HubCallsParts extends Pick<HubParts, 'connection' | 'envelope' | 'clock' | 'log'> {
  /** Performs a call at this hub. Returns undefined unless this hub is the one that delivers. */
  readonly perform: (method: HubCallMethod, args: readonly unknown[]) => Promise<unknown> | undefined;
}

export const RETRY = { headers: { 'Retry-After': '5' } } as const;

/** Carries calls on the webhooks from any hub to the one that delivers. */
export class HubCalls {
  readonly #parts: HubCallsParts;
  #subscription: Subscription | undefined;

  constructor(parts: HubCallsParts) {
    this.#parts = parts;
  }

  /**
   * Starts to answer the calls of other hubs. Resolves once the broker passes such calls to this hub, or the connection
   * is lost.
   */
  async listen(): Promise<void> {
    const { nc } = this.#parts.connection;
    this.#subscription ??= nc.subscribe(HUB_CALL, {
      callback: (error, message) => {
        if (error === null) void this.#answer(message);
      },
    });
    await nc.flush().catch(() => undefined);
  }

  unlisten(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
  }

  /** Tells the other hubs that webhooks have changed, so that they read the lease. */
  announceChange(): void {
    this.#parts.connection.nc.publish(HUB_NEWS);
  }

  /**
   * Performs a call at the delivering hub and returns its result. Throws the problem that the delivering hub threw, or
   * 503 `webhooks_unavailable` if no hub answers.
   */
  async ask(method: HubCallMethod, args: readonly unknown[]): Promise<unknown> {
    const { connection, envelope, clock, log } = this.#parts;
    const question = { subject: HUB_CALL, owner: HUBS, operation: OPERATION, request: { method, args } };
    let reply: Readonly<Record<string, unknown>>;
    try {
      reply = await exchange(connection, envelope, clock, { ...question, timeoutMs: CALL_MS[method] });
    } catch (error) {
      log.debug('a call to another hub failed', { method, error });
      throw problem('webhooks_unavailable', {}, { ...RETRY, cause: error });
    }
    if (reply.problem !== undefined) throw fromHubProblem(reply.problem);
    return reply.result ?? undefined;
  }

  async #answer(message: Msg): Promise<void> {
    const { envelope, perform, log } = this.#parts;
    let reply: Reply;
    try {
      const call = readQuestion(message, HUBS, OPERATION, envelope) as { method: HubCallMethod; args: unknown[] };
      const performed = perform(call.method, call.args);
      // This hub no longer delivers. The hub that now delivers answers the call instead.
      if (performed === undefined) return;
      reply = { result: (await performed) ?? null };
    } catch (error) {
      log.debug('a call from another hub failed', { error });
      reply = { problem: toProblem(error) };
    }
    respond(message, HUBS, OPERATION, reply, envelope);
  }
}

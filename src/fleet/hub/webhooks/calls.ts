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
import { HEADERS, shardSubject } from '../../protocol/layout.ts';
import { fromProblem, toProblem } from '../../protocol/requests.ts';
import { RETRY } from './held-shard.ts';
import type { HubSeal } from './registration.ts';

export interface CallsParts {
  readonly nc: () => NatsConnection;
  readonly seal: HubSeal;
  readonly log: Log;
  /** Answers for a shard of this hub; undefined: it is not ours at this moment. */
  readonly answer: (shard: number, call: unknown) => Promise<unknown> | undefined;
}

/** Calls on the webhooks of a shard, from any hub to the one that has it. */
export class Calls {
  readonly #parts: CallsParts;
  readonly #subscriptions = new Map<number, Subscription>();

  constructor(parts: CallsParts) {
    this.#parts = parts;
  }

  /** Answers calls on a shard from now on. */
  listen(shard: number): void {
    if (this.#subscriptions.has(shard)) return;
    const callback = (error: Error | null, message: Msg): void => {
      if (error === null) void this.#answer(shard, message);
    };
    this.#subscriptions.set(shard, this.#parts.nc().subscribe(shardSubject(shard), { callback }));
  }

  unlisten(shard: number): void {
    this.#subscriptions.get(shard)?.unsubscribe();
    this.#subscriptions.delete(shard);
  }

  /** Throws what the other hub threw, or 503 `webhooks_unavailable` when none has the shard. */
  async ask(shard: number, call: unknown, timeoutMs: number): Promise<unknown> {
    const { nc, seal } = this.#parts;
    const id = randomUUID();
    const headers = newHeaders();
    headers.set(HEADERS.messageId, id);
    let reply: Msg;
    try {
      reply = await nc().request(shardSubject(shard), seal.seal(['call', String(shard), id], call), {
        timeout: timeoutMs,
        headers,
      });
    } catch (error) {
      if (!(error instanceof NoRespondersError)) this.#parts.log.warn('a call to another hub failed', { shard, error });
      throw problem('webhooks_unavailable', {}, { ...RETRY, cause: error });
    }
    const answer = seal.open(['answer', String(shard), id], reply.data) as {
      readonly result?: unknown;
      readonly problem?: unknown;
    };
    if (answer.problem !== undefined) throw fromProblem(answer.problem);
    return answer.result;
  }

  async #answer(shard: number, message: Msg): Promise<void> {
    const { seal, answer, log } = this.#parts;
    const id = message.headers?.get(HEADERS.messageId) ?? '';
    let reply: unknown;
    try {
      const answered = answer(shard, seal.open(['call', String(shard), id], message.data));
      // The hub that has it now answers.
      if (answered === undefined) return;
      reply = { result: await answered };
    } catch (error) {
      log.debug('a call of another hub failed', { shard, error });
      reply = { problem: toProblem(error) };
    }
    message.respond(seal.seal(['answer', String(shard), id], reply));
  }
}

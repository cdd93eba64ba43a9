import type { Consumer, JsMsg } from '@nats-io/jetstream';
import { isAppError } from '../../../core/model/errors.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { invalidRequest, problem } from '../../../core/model/problems.ts';
import { pause } from '../../../core/runtime/clock.ts';
import type { SendOrder } from '../protocol/fleet-records-schema.ts';
import { BUCKETS, outcomeKey, outcomeSubject, SENDS, sendConsumer } from '../protocol/layout.ts';
import { type Reply, toProblem } from '../protocol/requests.ts';
import { decodeOrder, hashOfRequest, keyHash, packOutcome } from '../protocol/sends.ts';
import type { JoinedParts } from './agent.ts';

const PULL_MS = 30_000;
const WORKING_MS = 10_000;
const RETRY_MS = 1000;

/** Takes sends from this Mac's work queue, one at a time. Sends once per Idempotency-Key, even after a crash. */
export class SendQueue {
  readonly #parts: JoinedParts;
  /** Ends the running loop of `#take`. Each `start` ends the earlier loop. */
  #run: AbortController | undefined;
  #handling: Promise<void> = Promise.resolve();

  constructor(parts: JoinedParts) {
    this.#parts = parts;
  }

  start(): void {
    this.stop();
    const run = new AbortController();
    this.#run = run;
    void this.#take(run.signal);
  }

  /** Takes no more sends. */
  stop(): void {
    this.#run?.abort();
    this.#run = undefined;
  }

  /** Resolves once the running send has ended. */
  async close(): Promise<void> {
    this.stop();
    await this.#handling;
  }

  async #take(signal: AbortSignal): Promise<void> {
    const { connection, mac, clock, log } = this.#parts;
    let trouble: string | undefined;
    while (!signal.aborted) {
      try {
        const consumer = await connection.js.consumers.get(SENDS.stream, sendConsumer(mac));
        while (!signal.aborted) {
          const message = await nextOf(consumer, signal);
          if (message === undefined) continue;
          if (signal.aborted) return quietly(() => message.nak());
          // A send taken over an earlier connection may still be running.
          await this.#handling;
          this.#handling = this.#handle(message);
          await this.#handling;
          trouble = undefined;
        }
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (!signal.aborted && reason !== trouble) {
          log.warn('sends cannot be taken from the queue of the fleet, retrying', { reason });
        }
        trouble = reason;
        await pause(clock, RETRY_MS, signal);
      }
    }
  }

  async #handle(message: JsMsg): Promise<void> {
    const { mac, envelope, clock, log } = this.#parts;
    let order: SendOrder;
    try {
      order = decodeOrder(mac, message.headers, message.data, envelope);
    } catch (error) {
      log.warn('a send from the queue of the fleet cannot be read and is skipped', {
        reason: (error as Error).message,
      });
      return quietly(() => message.term());
    }
    let cancel: Cancel | undefined;
    const working = (): void => {
      cancel = clock.after(WORKING_MS, () => {
        quietly(() => message.working());
        working();
      });
    };
    working();
    try {
      const reply = await this.#send(order);
      if (reply === undefined) return message.nak();
      await this.#report(order, reply);
      message.ack();
    } catch (error) {
      // The queue delivers the send again. This Mac then answers with the stored outcome of the send's Idempotency-Key.
      log.warn('the outcome of a send could not be reported to the fleet', { reason: (error as Error).message });
    } finally {
      cancel?.();
    }
  }

  /**
   * Makes a send and returns the reply to the hub. Returns undefined if the service is stopping, so that the queue
   * delivers the send again.
   */
  async #send({ key, deadlineMs, request, requestId }: SendOrder): Promise<Reply | undefined> {
    const { sender, checkSend, clock, isKept } = this.#parts;
    try {
      // A repeated send is answered with its stored outcome, however late.
      if (clock.now() > deadlineMs && !isKept(key)) throw problem('send_expired');
      const checked = checkSend(request);
      if (!checked.ok) throw invalidRequest(checked.mistakes);
      const id = requestId === undefined ? {} : { requestId };
      return { result: await sender.send({ ...checked.value, ...id, idempotencyKey: { kind: 'client', key } }) };
    } catch (error) {
      if (isAppError(error) && error.code === 'shutting_down') return undefined;
      return { problem: toProblem(error) };
    }
  }

  async #report({ key, request }: SendOrder, reply: Reply): Promise<void> {
    const { connection, envelope, mac, isKept } = this.#parts;
    const hash = keyHash(key);
    const outcome = packOutcome(envelope, mac, key, { requestHash: hashOfRequest(request), reply });
    // If a send was refused before its key was stored, the outcome is not final: the client may use the key again.
    if (isKept(key) && !isOfAnother(reply)) {
      await connection.js.publish(`$KV.${BUCKETS.outcomes}.${outcomeKey(mac, hash)}`, outcome);
    }
    connection.nc.publish(outcomeSubject(mac, hash), outcome);
  }
}

/**
 * Reports whether this send was refused because of another send with the same key. The stored outcome of that other
 * send must not be replaced.
 */
function isOfAnother(reply: Reply): boolean {
  return 'problem' in reply && ['send_in_progress', 'idempotency_key_reused'].includes(reply.problem.code);
}

/**
 * Runs `answer`, which reports to the queue how a message was handled, and ignores its errors. A report over a closed
 * connection fails, and the queue delivers the message again.
 */
function quietly(answer: () => void): void {
  try {
    answer();
  } catch {
    // The message stays in the queue.
  }
}

/** Resolves with the next message, or with undefined after `PULL_MS` or when `signal` aborts. */
async function nextOf(consumer: Consumer, signal: AbortSignal): Promise<JsMsg | undefined> {
  const messages = await consumer.fetch({ max_messages: 1, expires: PULL_MS });
  const stop = (): void => messages.stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const message of messages) return message;
    return undefined;
  } finally {
    signal.removeEventListener('abort', stop);
    messages.stop();
  }
}

import type { Consumer, JsMsg } from '@nats-io/jetstream';
import { isAppError, type Mistake } from '../../domain/errors.ts';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import type { CallerSender, SendRequest } from '../../domain/ports/sending.ts';
import { invalidRequest, problem } from '../../domain/problems.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { BUCKETS, outcomeKey, outcomeSubject, SENDS, sendConsumer } from '../protocol/layout.ts';
import { type Reply, toProblem } from '../protocol/requests.ts';
import { decodeOrder, hashOfRequest, keyHash, packOutcome, type SendOrder } from '../protocol/sends.ts';

const PULL_MS = 30_000;
const WORKING_MS = 10_000;
const RETRY_MS = 1000;

/** What a send may ask for, once it was checked. */
export type CheckedSend =
  | { readonly ok: true; readonly value: Pick<SendRequest, 'recipient' | 'body' | 'attachments'> }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

export interface SendQueueParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly mac: string;
  readonly sender: Pick<CallerSender, 'send'>;
  readonly checkSend: (request: unknown) => CheckedSend;
  /** Whether the outcome of this key is kept here (decision D9): then it is final. */
  readonly isKept: (key: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Takes sends from the work queue of this Mac, one at a time: each key is sent once, through crashes of either side. */
export class SendQueue {
  readonly #parts: SendQueueParts;
  /** The run that may take; another one makes it end. */
  #run: AbortController | undefined;
  #handling: Promise<void> = Promise.resolve();

  constructor(parts: SendQueueParts) {
    this.#parts = parts;
  }

  start(): void {
    this.stop();
    const run = new AbortController();
    this.#run = run;
    void this.#take(run.signal);
  }

  /** Takes nothing more. */
  stop(): void {
    this.#run?.abort();
    this.#run = undefined;
  }

  /** Resolves when the send that runs has ended. */
  async close(): Promise<void> {
    this.stop();
    await this.#handling;
  }

  async #take(signal: AbortSignal): Promise<void> {
    const { connection, mac, log } = this.#parts;
    let trouble: string | undefined;
    while (!signal.aborted) {
      try {
        const consumer = await connection.js.consumers.get(SENDS.stream, sendConsumer(mac));
        while (!signal.aborted) {
          const message = await nextOf(consumer, signal);
          if (message === undefined) continue;
          if (signal.aborted) return quietly(() => message.nak());
          // The one of an earlier connection may still run.
          await this.#handling;
          this.#handling = this.#handle(message);
          await this.#handling;
          trouble = undefined;
        }
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (!signal.aborted && reason !== trouble) log.warn('sends of the fleet cannot be taken, retrying', { reason });
        trouble = reason;
        await this.#pause(signal);
      }
    }
  }

  async #handle(message: JsMsg): Promise<void> {
    const { mac, envelope, clock, log } = this.#parts;
    let order: SendOrder;
    try {
      order = decodeOrder(mac, message.headers, message.data, envelope);
    } catch (error) {
      log.warn('a send of the fleet cannot be read and is left out', { reason: (error as Error).message });
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
      await this.#tell(order, reply);
      message.ack();
    } catch (error) {
      // It is handed out again, and the claim of its key says what became of it.
      log.warn('the outcome of a send could not be told to the fleet', { reason: (error as Error).message });
    } finally {
      cancel?.();
    }
  }

  /** undefined: not now, because the service is stopping. */
  async #send({ key, deadlineMs, request, requestId }: SendOrder): Promise<Reply | undefined> {
    const { sender, checkSend, clock, isKept } = this.#parts;
    try {
      // One that was sent before is answered with what became of it, however late.
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

  async #tell({ key, request }: SendOrder, reply: Reply): Promise<void> {
    const { connection, envelope, mac, isKept } = this.#parts;
    const hash = keyHash(key);
    const outcome = packOutcome(envelope, mac, key, { requestHash: hashOfRequest(request), reply });
    // A refusal that came before the claim is not final: the same key may be sent again.
    if (isKept(key) && !isOfAnother(reply))
      await connection.js.publish(`$KV.${BUCKETS.outcomes}.${outcomeKey(mac, hash)}`, outcome);
    connection.nc.publish(outcomeSubject(mac, hash), outcome);
  }

  async #pause(signal: AbortSignal): Promise<void> {
    let cancel: Cancel | undefined;
    await new Promise<void>((resolve) => {
      cancel = this.#parts.clock.after(RETRY_MS, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    cancel?.();
  }
}

/** True for a refusal because of another send with this key, whose outcome is not to be replaced. */
function isOfAnother(reply: Reply): boolean {
  return 'problem' in reply && ['send_in_progress', 'idempotency_key_reused'].includes(reply.problem.code);
}

/** A message of a connection that was closed cannot be answered any more: it is handed out again. */
function quietly(answer: () => void): void {
  try {
    answer();
  } catch {
    // Nothing of it is lost.
  }
}

/** The next message; undefined when there was none for a while, or when it is not to be waited for any more. */
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

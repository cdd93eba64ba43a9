import { randomUUID } from 'node:crypto';
import type { JetStreamApiError } from '@nats-io/jetstream';
import { isAppError, type Mistake } from '../../../core/model/errors.ts';
import { qualify } from '../../../core/model/fleet.ts';
import type {
  CallerSender,
  DryRun,
  SendAnswer,
  SendRequest,
  SendResult,
} from '../../../core/model/ports/sending-ports.ts';
import { invalidRequest, problem } from '../../../core/model/problems.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';
import { isFull } from '../protocol/compare-and-set.ts';
import { sendAnswer } from '../protocol/fleet-reads-schema.ts';
import type { SendOutcome } from '../protocol/fleet-records-schema.ts';
import { MAX_SENDS, outcomeSubject, sendSubject } from '../protocol/layout.ts';
import { fromProblem } from '../protocol/requests.ts';
import { encodeOrder, hashOfRequest, keyHash, unpackOutcome } from '../protocol/sends.ts';
import type { HubParts } from './hub-parts.ts';
import { qualifiedMessage } from './qualified.ts';
import { routeOfSend } from './routing.ts';
import { type SendClaim, SendClaims } from './send-claims.ts';
import type { SendLeases } from './send-leases.ts';

/** How long after the request a Mac may begin a send. After that it refuses the send. */
const DEADLINE_MS = 60_000;
/**
 * How long to wait for an outcome. Longer than `DEADLINE_MS`, because a Mac may begin to send just before the deadline.
 */
const WAIT_MS = 90_000;
const PUBLISH_MS = 5000;
const PUBLISH_ATTEMPTS = 3;
/** Interval at which the stored outcome is read, in case its announcement was missed. */
const LOOK_MS = 5000;
/** The NATS server's error codes for a queue that has reached its maximum number of messages. */
const QUEUE_FULL = new Set([10077, 10110, 10122]);

export interface HubSenderParts extends HubParts {
  readonly leases: SendLeases;
}

interface Order extends SendClaim {
  readonly key: string;
  readonly attachments: readonly string[];
  /** The body for `POST /messages` at the Mac that sends. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
}

/**
 * Sends messages through the work queue of the chosen Mac (decision N1). A message with an Idempotency-Key is sent only
 * once, even if several hubs receive the request.
 */
export class HubSender implements CallerSender {
  readonly #parts: HubSenderParts;
  readonly #claims: SendClaims;

  constructor(parts: HubSenderParts) {
    this.#parts = parts;
    this.#claims = new SendClaims(parts);
  }

  /**
   * Returns no mistakes. Attachments are files of the sending Mac, which is not chosen yet. `#deliver` asks that Mac to
   * check them.
   */
  async attachmentMistakes(): Promise<readonly Mistake[]> {
    return [];
  }

  async send(request: SendRequest): Promise<SendAnswer> {
    const { recipient, body, attachments, from, idempotencyKey, requestId } = request;
    const key = idempotencyKey?.key;
    if (!this.#parts.connection.isConnected) throw problem('broker_away');
    if (request.dryRun === true) return { kind: 'dry_run', dryRun: await this.#dryRun(request) };
    const content = { body, ...(attachments.length > 0 && { attachments }) };
    const askedHash = hashOfRequest({ recipient, from, ...content });
    const claim = await this.#claim(request, askedHash);
    const order: Order = {
      ...claim,
      key: key ?? randomUUID(),
      attachments,
      request: { recipient: claim.recipient, ...content },
      requestId,
    };
    return { kind: 'sent', ...(await (key === undefined ? this.#deliver(order) : this.#once(order))) };
  }

  /**
   * Returns the earlier claim of the request's Idempotency-Key. Without one, chooses a Mac and claims the key for it. A
   * request without a key needs no claim. Throws `idempotency_key_reused` if the key belongs to a different request.
   */
  async #claim(request: SendRequest, askedHash: string): Promise<SendClaim> {
    const key = request.idempotencyKey?.key;
    if (key === undefined) return { ...(await this.#route(request)), askedHash };
    const routed = () => this.#route(request).catch((error) => this.#refused(error, key));
    const claim = (await this.#claims.find(key)) ?? (await this.#claims.claim(key, { ...(await routed()), askedHash }));
    if (claim.askedHash !== askedHash) throw problem('idempotency_key_reused');
    return claim;
  }

  /** Returns the stored outcome of an earlier request with this Idempotency-Key. Without one, delivers the order. */
  async #once(order: Order): Promise<SendResult> {
    const { mac, key } = order;
    const stored = await this.#claims.outcome(mac, key);
    if (stored !== undefined) return { ...this.#result(order, stored), replayed: true };
    const delivered = this.#deliver(order);
    return this.#parts.macs.nameOf(mac).isPair ? delivered.catch((error) => this.#refused(error, key)) : delivered;
  }

  /**
   * Throws the given error, with one exception: if it is `mac_away` and a request with this Idempotency-Key may already
   * have sent the message, throws `send_outcome_unknown` instead.
   */
  async #refused(error: unknown, key: string): Promise<never> {
    if (!isAppError(error) || error.code !== 'mac_away') throw error;
    const isTried = await this.#claims.find(key).then(
      (claim) => claim !== undefined,
      () => true,
    );
    throw isTried ? problem('send_outcome_unknown') : error;
  }

  /**
   * Returns the Mac to send by, and the recipient as that Mac names it. For a pair, `leases` chooses one of the two
   * Macs.
   */
  async #route(request: SendRequest): Promise<{ readonly mac: string; readonly recipient: string }> {
    const { macs, leases } = this.#parts;
    const { member, recipient } = await routeOfSend(request, this.#parts);
    return {
      recipient,
      mac: macs.nameOf(member).isPair ? await leases.holder(member, request.idempotencyKey?.key) : member,
    };
  }

  /** Puts a send into its Mac's queue and waits for the outcome. */
  async #deliver(order: Order): Promise<SendResult> {
    const { macs, reads } = this.#parts;
    const { mac } = order;
    const known = macs.get(mac);
    if (known === undefined || macs.isAway(known)) throw problem('mac_away', { mac });
    // Asks even if there are no attachments, because a Mac that has died counts as present for up to 30 s.
    const mistakes = await reads.ask(mac, 'attachmentMistakes', { paths: order.attachments });
    if (mistakes.length > 0) throw invalidRequest(mistakes);
    const outcome = await this.#outcome(order);
    if (outcome === undefined) throw problem('send_outcome_unknown');
    return this.#result(order, outcome);
  }

  /**
   * Publishes an order and waits up to `WAIT_MS` for its outcome, which the Mac announces and stores. Returns undefined
   * if this hub finds none by then.
   */
  async #outcome(order: Order): Promise<SendOutcome | undefined> {
    const { connection, envelope, clock, log } = this.#parts;
    const { mac, key } = order;
    const wakeup = new Wakeup(clock);
    let heard: SendOutcome | undefined;
    const subscription = connection.nc.subscribe(outcomeSubject(mac, keyHash(key)), {
      callback: (error, { data }) => {
        if (error !== null) return;
        try {
          heard = unpackOutcome(envelope, mac, key, data);
          wakeup.wake();
        } catch (cause) {
          log.warn('the outcome of a send cannot be read', { mac, reason: (cause as Error).message });
        }
      },
    });
    try {
      await this.#publish(order);
      const endMs = clock.monotonic() + WAIT_MS;
      while (heard === undefined && clock.monotonic() < endMs) {
        await wakeup.wait(Math.min(LOOK_MS, endMs - clock.monotonic()));
        heard ??= await this.#claims.outcome(mac, key).catch(() => undefined);
      }
      return heard;
    } finally {
      subscription.unsubscribe();
    }
  }

  /**
   * Publishes an order. Throws `send_queue_full`, `broker_full` or `broker_away` if the order was certainly not queued,
   * and `send_outcome_unknown` if it may have been queued.
   */
  async #publish({ mac, key, request, requestId }: Order): Promise<void> {
    const { connection, envelope, brokerClock, log } = this.#parts;
    const deadlineMs = Math.round(brokerClock.now()) + DEADLINE_MS;
    const isPlain = requestId !== undefined && /^[\w.-]{1,100}$/.test(requestId);
    const attemptId = randomUUID();
    const order = { key, deadlineMs, request, ...(isPlain && { requestId }) };
    const { headers, body } = encodeOrder(mac, order, attemptId, envelope);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await connection.js.publish(sendSubject(mac), body, { headers, msgID: attemptId, timeout: PUBLISH_MS });
        return;
      } catch (error) {
        const { code, name } = error as Partial<JetStreamApiError>;
        if (typeof code === 'number' && QUEUE_FULL.has(code)) throw problem('send_queue_full', { max: MAX_SENDS });
        log.warn('a send could not be queued', { mac, reason: (error as Error).message });
        if (isFull(error)) throw problem('broker_full');
        // `JetStreamNotEnabled`, a class that the NATS client does not export, means that no stream listens to the
        // subject.
        const isRefused = name === 'JetStreamNotEnabled' || typeof code === 'number';
        if (attempt === 1 && isRefused) throw problem('broker_away');
        if (attempt === PUBLISH_ATTEMPTS) throw problem('send_outcome_unknown');
      }
    }
  }

  /**
   * Returns the result in a Mac's outcome, or throws the problem in it. Throws `idempotency_key_reused` if the outcome
   * belongs to a different request.
   */
  #result({ mac, request }: Order, { requestHash: hash, reply }: SendOutcome): SendResult {
    if (hash !== hashOfRequest(request)) throw problem('idempotency_key_reused');
    if ('problem' in reply) throw fromProblem(reply.problem);
    const read = sendAnswer.safeParse(reply.result);
    // The Mac may have sent the message although its result is unreadable, so the client must not send it again.
    if (!read.success) throw problem('send_outcome_unknown');
    return { ...read.data, message: qualifiedMessage(this.#parts.macs.nameOf(mac), read.data.message) };
  }

  async #dryRun(request: SendRequest): Promise<DryRun> {
    const { reads } = this.#parts;
    const { member, recipient } = await routeOfSend(request, this.#parts);
    const id = recipient.includes(';') ? recipient : `any;-;${recipient}`;
    const places = reads.placesOf({ mac: member, id });
    const conversation = await reads.first(places, ({ mac, id: own }) => reads.ask(mac, 'conversation', { id: own }));
    const to = qualify(member, conversation?.id ?? recipient);
    return { would: 'send', to, members: conversation?.participants ?? [], text: request.body };
  }
}

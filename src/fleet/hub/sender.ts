import { randomUUID } from 'node:crypto';
import type { JetStreamApiError } from '@nats-io/jetstream';
import { isAppError, type Mistake } from '../../domain/errors.ts';
import { qualify } from '../../domain/fleet.ts';
import type { Clock, Log } from '../../domain/ports/host.ts';
import type { CallerSender, DryRun, SendAnswer, SendRequest, SendResult } from '../../domain/ports/sending.ts';
import { invalidRequest, problem } from '../../domain/problems.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import { sendAnswer } from '../../schema/mac-answers.ts';
import { isFull } from '../protocol/compare-and-set.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { MAX_SENDS, outcomeSubject, sendSubject } from '../protocol/layout.ts';
import { fromProblem } from '../protocol/requests.ts';
import { encodeOrder, hashOfRequest, keyHash, type SendOutcome, unpackOutcome } from '../protocol/sends.ts';
import type { BrokerClock } from './broker-clock.ts';
import type { MacReads } from './mac-reads.ts';
import type { Macs } from './macs.ts';
import { qualifiedMessage } from './qualified.ts';
import { routeOfSend } from './routing.ts';
import { type SendClaim, SendClaims } from './send-claims.ts';
import type { SendLeases } from './send-leases.ts';

/** What is not sent by then is not sent at all. */
const DEADLINE_MS = 60_000;
/** Longer than the deadline: a send that began just before it takes a while. */
const WAIT_MS = 90_000;
const PUBLISH_MS = 5000;
const PUBLISH_ATTEMPTS = 3;
/** How often the stored outcome is looked up, in case what was said was not heard. */
const LOOK_MS = 5000;
/** The server's codes for a subject, or a stream, that takes no more. */
const FULL = new Set([10077, 10110, 10122]);

export interface HubSenderParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly macs: Macs;
  readonly reads: MacReads;
  readonly leases: SendLeases;
  readonly brokerClock: BrokerClock;
  readonly clock: Clock;
  readonly log: Log;
}

interface Order extends SendClaim {
  readonly key: string;
  readonly attachments: readonly string[];
  /** Body of the Mac's `POST /messages`. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
}

/** Sends by the Mac that the request means (decision N1): through its work queue, once for each key over all hubs. */
export class HubSender implements CallerSender {
  readonly #parts: HubSenderParts;
  readonly #claims: SendClaims;

  constructor(parts: HubSenderParts) {
    this.#parts = parts;
    this.#claims = new SendClaims(parts);
  }

  /** Which Mac has the files is not known before the request is whole: it checks them itself. */
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
    const earlier = key === undefined ? undefined : await this.#claims.find(key);
    const claim = earlier ?? { ...(await this.#route(request)), askedHash };
    const order: Order = {
      ...claim,
      key: key ?? randomUUID(),
      attachments,
      request: { recipient: claim.recipient, ...content },
      requestId,
    };
    const isOnce = key !== undefined;
    const result = await (isOnce ? this.#once(order, askedHash, earlier !== undefined) : this.#deliver(order));
    return { kind: 'sent', ...result };
  }

  /** A key that was used before gets the outcome of that send, or waits for it. */
  async #once(order: Order, askedHash: string, isRepeated: boolean): Promise<SendResult> {
    const { mac, recipient, key } = order;
    const claim = isRepeated ? order : await this.#claims.claim(key, { mac, recipient, askedHash });
    if (claim.askedHash !== askedHash) throw problem('idempotency_key_reused');
    const stored = await this.#claims.outcome(claim.mac, key);
    const request = { ...order.request, recipient: claim.recipient };
    if (stored !== undefined) return { ...this.#result({ ...order, ...claim, request }, stored), replayed: true };
    const delivered = this.#deliver({ ...order, ...claim, request });
    if (!isRepeated || !this.#parts.macs.nameOf(claim.mac).isPair) return delivered;
    // Nobody knows what became of the first attempt, and the other Mac of a pair must never try.
    return delivered.catch((error: unknown) => {
      throw isAppError(error) && error.code === 'mac_away' ? problem('send_outcome_unknown') : error;
    });
  }

  /** The Mac to send by: of a pair, the one that its lease names. */
  async #route(request: SendRequest): Promise<{ readonly mac: string; readonly recipient: string }> {
    const { macs, leases } = this.#parts;
    const { member, recipient } = await routeOfSend(request, this.#parts);
    return {
      recipient,
      mac: macs.nameOf(member).isPair ? await leases.holder(member, request.idempotencyKey?.key) : member,
    };
  }

  /** Puts it into the queue of the Mac, and waits for what becomes of it. */
  async #deliver(order: Order): Promise<SendResult> {
    const { connection, macs, reads } = this.#parts;
    const { mac, key } = order;
    const known = macs.get(mac);
    if (known === undefined || macs.isAway(known)) throw problem('mac_away', { mac });
    // Also without files: a Mac that died is in the list for a while, and does not answer this.
    const mistakes = await reads.attachmentMistakes(mac, order.attachments);
    if (mistakes.length > 0) throw invalidRequest(mistakes);
    const outcomes = new Outcomes(order, this.#parts, this.#claims);
    const subscription = connection.nc.subscribe(outcomeSubject(mac, keyHash(key)), {
      callback: (error, { data }) => {
        if (error === null) outcomes.note(data);
      },
    });
    try {
      await this.#publish(order);
      const outcome = await outcomes.first();
      if (outcome === undefined) throw problem('send_outcome_unknown');
      return this.#result(order, outcome);
    } finally {
      subscription.unsubscribe();
    }
  }

  /** Throws while it is certain that nothing was sent, and `send_outcome_unknown` when it is not. */
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
        if (typeof code === 'number' && FULL.has(code)) throw problem('send_queue_full', { max: MAX_SENDS });
        log.warn('a send could not be put into the queue', { mac, reason: (error as Error).message });
        if (isFull(error)) throw problem('broker_full');
        if (attempt === 1 && (name === 'NoRespondersError' || typeof code === 'number')) throw problem('broker_away');
        if (attempt === PUBLISH_ATTEMPTS) throw problem('send_outcome_unknown');
      }
    }
  }

  /** Throws what the Mac threw. */
  #result({ mac, request }: Order, { requestHash: hash, reply }: SendOutcome): SendResult {
    if (hash !== hashOfRequest(request)) throw problem('idempotency_key_reused');
    if ('problem' in reply) throw fromProblem(reply.problem);
    const read = sendAnswer.safeParse(reply.result);
    // It may have been sent: never to be sent again.
    if (!read.success) throw problem('send_outcome_unknown');
    return { ...read.data, message: qualifiedMessage(this.#parts.macs.nameOf(mac), read.data.message) };
  }

  async #dryRun(request: SendRequest): Promise<DryRun> {
    const { reads } = this.#parts;
    const { member, recipient } = await routeOfSend(request, this.#parts);
    const id = recipient.includes(';') ? recipient : `any;-;${recipient}`;
    const places = reads.placesOf({ mac: member, id });
    const conversation = await reads.first(places, (place) => reads.conversation(place.mac, place.id));
    const to = qualify(member, conversation?.id ?? recipient);
    return { would: 'send', to, members: conversation?.participants ?? [], text: request.body };
  }
}

/** What is said of one send: heard at its subject, or found in the bucket. */
class Outcomes {
  readonly #order: Order;
  readonly #parts: HubSenderParts;
  readonly #claims: SendClaims;
  #heard: SendOutcome | undefined;
  readonly #wakeup: Wakeup;

  constructor(order: Order, parts: HubSenderParts, claims: SendClaims) {
    this.#order = order;
    this.#parts = parts;
    this.#wakeup = new Wakeup(parts.clock);
    this.#claims = claims;
  }

  note(data: Uint8Array): void {
    const { mac, key } = this.#order;
    try {
      this.#heard = unpackOutcome(this.#parts.envelope, mac, key, data);
      this.#wakeup.wake();
    } catch (error) {
      this.#parts.log.warn('what a Mac says of a send cannot be read', { mac, reason: (error as Error).message });
    }
  }

  /** undefined when nothing is said in time. */
  async first(): Promise<SendOutcome | undefined> {
    const { clock } = this.#parts;
    const endMs = clock.monotonic() + WAIT_MS;
    while (this.#heard === undefined && clock.monotonic() < endMs) {
      await this.#said(Math.min(LOOK_MS, endMs - clock.monotonic()));
      this.#heard ??= await this.#stored();
    }
    return this.#heard;
  }

  async #stored(): Promise<SendOutcome | undefined> {
    if (this.#heard !== undefined) return undefined;
    try {
      return await this.#claims.outcome(this.#order.mac, this.#order.key);
    } catch (error) {
      if (!isAppError(error)) this.#parts.log.debug('the outcomes of sends cannot be read', { error });
      return undefined;
    }
  }

  async #said(withinMs: number): Promise<void> {
    if (this.#heard === undefined) await this.#wakeup.wait(withinMs);
  }
}

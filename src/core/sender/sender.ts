import { chatIdentity, groupId } from '../model/address.ts';
import type { MessageDetails } from '../model/details.ts';
import type { Mistake } from '../model/errors.ts';
import type { IdempotencyKey } from '../model/idempotency-key.ts';
import type { Message } from '../model/message.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import type {
  IdempotencyStore,
  MessageSender,
  MessagesApp,
  SendRequest,
  SendResult,
} from '../model/ports/sending-ports.ts';
import { invalidRequest, problem } from '../model/problems.ts';
import { assertAnswerable } from '../model/recipient.ts';
import { type AttachmentRules, checkAttachments } from './checked-attachments.ts';
import type { Confirmations } from './confirmations.ts';
import { isOnlyPlaceholders } from './content-hash.ts';
import { type CheckedRequest, Delivery } from './delivery.ts';
import { type EarlierSend, Idempotency, requestHash } from './idempotency.ts';
import { provisional } from './provisional.ts';
import type { Expectation } from './row-owners.ts';
import type { SentRows } from './sent-rows.ts';
import { SerialQueue } from './serial-queue.ts';
import { chosenPlan } from './service-choice.ts';
import { Staging } from './staging.ts';
import type { TolerantLookup } from './tolerant-lookup.ts';

/** Time that a running send gets to finish at shutdown (decision A7). */
const SHUTDOWN_LIMIT_MS = 8000;
const ONLY_PLACEHOLDERS = '`body` is only a placeholder for an attachment (U+FFFC or U+FFFD), which nobody would see.';
/**
 * For this long after a send whose row has not appeared, a repeated request gets the provisional answer: as long as its
 * row is looked for (decision I5).
 */
const PROVISIONAL_MS = 600_000;

export interface SenderParts {
  readonly messages: MessagesApp;
  readonly rows: SentRows;
  readonly idempotency: IdempotencyStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly attachments: AttachmentRules;
  /** Folder for copies of attachments; absent if Messages may read every path (decision D8). */
  readonly stagingFolder?: string;
  /** Resolves when this row's event is published, or after a short time (decision S4). */
  readonly published?: (rowId: number) => Promise<void>;
  /** Returns the details of a message, for the answer to a send that chose its service (decision X3). */
  readonly details?: (message: Message) => Promise<MessageDetails | undefined>;
}

/** Sends messages, one at a time (decision D4), and finds the row of each in chat.db (decision D5). */
export class Sender implements MessageSender {
  readonly #parts: SenderParts;
  readonly #queue = new SerialQueue();
  readonly #lookup: TolerantLookup;
  readonly #confirmations: Confirmations;
  readonly #idempotency: Idempotency;
  readonly #delivery: Delivery;
  readonly #staging: Staging | undefined;
  readonly #stop = new AbortController();

  constructor(parts: SenderParts) {
    const { messages, rows, clock, log, stagingFolder: folder } = parts;
    this.#parts = parts;
    this.#lookup = rows.lookup;
    this.#confirmations = rows.confirmations;
    this.#idempotency = new Idempotency(parts.idempotency, clock, log);
    this.#staging = folder === undefined ? undefined : new Staging({ folder, lookup: this.#lookup, clock, log });
    this.#delivery = new Delivery({
      messages,
      lookup: this.#lookup,
      confirmations: this.#confirmations,
      clock,
      log,
      staging: this.#staging,
      signal: this.#stop.signal,
    });
  }

  /** Resumes looking for the rows of an earlier process's sends, and adopts its copies of attachments. */
  async start(): Promise<void> {
    this.#parts.rows.origins.start();
    this.#confirmations.start();
    await this.#staging?.start();
  }

  /** Refuses waiting sends at once and gives the running one 8 s (decision A7). Resolves once no send is running. */
  async close(): Promise<void> {
    const cancel = this.#parts.clock.after(SHUTDOWN_LIMIT_MS, () => this.#stop.abort());
    await this.#queue.close();
    cancel();
    this.#confirmations.close();
    this.#staging?.close();
  }

  async attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]> {
    return (await checkAttachments({ attachments: paths }, this.#parts.attachments)).mistakes;
  }

  async send(request: SendRequest): Promise<SendResult> {
    const result = await this.#send(request);
    // Waits for the event of the send's row. The send's turn in the queue is over, so the next send is not delayed.
    if (result.confirmed) await this.#parts.published?.(Number(result.message.id));
    return result;
  }

  async #send(request: SendRequest): Promise<SendResult> {
    const key = request.idempotencyKey;
    if (key === undefined) return this.#inTurn(request, (checked) => this.#sendNow(checked));
    const hash = requestHash(request);
    const leave = this.#idempotency.enter(key, hash);
    try {
      // Answers a repeated request without queueing it or checking its attachments, which may be deleted by now.
      const earlier = this.#idempotency.find(key, hash);
      if (earlier !== undefined) return this.#replay(request, key, earlier);
      return await this.#inTurn(request, (checked) => this.#sendOnce(checked, key, hash));
    } finally {
      leave();
    }
  }

  /**
   * Queues the send at once, and checks its attachments meanwhile. If they are refused, answers without waiting for the
   * send's turn.
   */
  async #inTurn(request: SendRequest, work: (checked: CheckedRequest) => Promise<SendResult>): Promise<SendResult> {
    const checked = this.check(request);
    const sent = this.#queue.add(async () => {
      const ready = await checked;
      if (await this.#parts.messages.isAsking()) throw problem('automation_pending');
      return work(ready);
    });
    // If the check fails, `sent` rejects later with the same error. The client receives the first error, and the second
    // is ignored.
    const [, result] = await Promise.all([checked, sent]);
    return this.#withDetails(request, result);
  }

  /** Adds the details for a send that chose its service. Called after the send's turn, so that no other send waits. */
  async #withDetails(request: SendRequest, result: SendResult): Promise<SendResult> {
    if (!result.confirmed || !hasChoice(request)) return result;
    // The message is sent, whether or not its details can be read.
    const details = await this.#parts.details?.(result.message).catch(() => undefined);
    return details === undefined ? result : { ...result, message: { ...result.message, details } };
  }

  /**
   * Makes the checks of a send before it is queued, held or deferred. Throws what `send` throws then; `invalid_request`
   * names these `earlier` mistakes too.
   */
  async check(request: SendRequest, earlier: readonly Mistake[] = []): Promise<CheckedRequest> {
    const { recipient, body, attachments, uploads = [] } = request;
    // Messages would mistake the identifier of an unknown group for a person's address, and create a conversation that
    // reaches nobody.
    if (isGroupAsPerson(recipient)) {
      if (this.#parts.rows.strictLookup.chats(recipient).length === 0) throw problem('unknown_conversation');
    } else assertAnswerable(recipient);
    // Refuses an impossible service now, not when the send has its turn.
    if (hasChoice(request)) chosenPlan(request, this.#lookup.chats(recipient), this.#lookup);
    if (uploads.some(({ isGone }) => isGone)) throw problem('upload_not_found');
    const isEmpty = body === '' && attachments.length === 0 && uploads.length === 0;
    const { mistakes, files } = await checkAttachments(request, this.#parts.attachments);
    const all = [
      ...earlier,
      ...(isOnlyPlaceholders(body) ? [{ pointer: '/body', message: ONLY_PLACEHOLDERS }] : []),
      ...(isEmpty ? [{ pointer: '/body', message: 'There is nothing to send.' }] : []),
      ...mistakes,
    ];
    if (all.length === 0) return { ...request, files };
    throw invalidRequest(all);
  }

  async #sendOnce(request: CheckedRequest, key: IdempotencyKey, hash: string): Promise<SendResult> {
    // The claim is durable before the run, and the outcome before the answer. So a crash at any point leaves at most
    // one send.
    const earlier = this.#idempotency.claim(key, hash);
    if (earlier !== undefined) return this.#replay(request, key, earlier);
    let expectation: Expectation | undefined;
    try {
      expectation = await this.#delivery.deliver(request);
    } catch (error) {
      this.#idempotency.keepFailure(key, error);
      throw error;
    }
    this.#idempotency.keep(key, outcomeOf(expectation));
    return this.#answer(request, expectation?.rowId, false);
  }

  async #sendNow(request: CheckedRequest): Promise<SendResult> {
    const expectation = await this.#delivery.deliver(request);
    return this.#answer(request, expectation?.rowId, false);
  }

  #replay(request: SendRequest, key: IdempotencyKey, earlier: EarlierSend): SendResult {
    if (earlier.state === 'confirmed') return this.#answer(request, earlier.rowId, true);
    const { rows, clock } = this.#parts;
    this.#confirmations.look();
    const part = earlier.part === undefined ? undefined : rows.sentParts.part(earlier.part);
    if (part?.rowId !== undefined) this.#idempotency.keep(key, { state: 'confirmed', rowId: part.rowId });
    else if (part !== undefined && clock.now() - part.atMs > PROVISIONAL_MS) throw problem('send_never_appeared');
    return this.#answer(request, part?.rowId, true);
  }

  #answer(request: SendRequest, rowId: number | undefined, replayed: boolean): SendResult {
    const message = rowId === undefined ? undefined : this.#lookup.message(rowId);
    if (message === undefined) {
      return { confirmed: false, message: provisional(request, this.#parts.clock.now()), replayed };
    }
    return { confirmed: true, message, replayed };
  }
}

function outcomeOf(expectation: Expectation | undefined): EarlierSend {
  if (expectation?.rowId !== undefined) return { state: 'confirmed', rowId: expectation.rowId };
  return { state: 'provisional', part: expectation?.number };
}

function hasChoice({ service, fallback }: SendRequest): boolean {
  return service !== undefined || fallback !== undefined;
}

/** Reports whether Messages would take a group's id for a person, because it has no style or that of a person. */
function isGroupAsPerson(recipient: string): boolean {
  return groupId(recipient) !== undefined && chatIdentity(recipient)?.style !== '+';
}

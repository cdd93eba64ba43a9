import { isAppError, type Mistake } from '../domain/errors.ts';
import type { Message } from '../domain/message.ts';
import type { Cancel, Clock, Log } from '../domain/ports/host.ts';
import type {
  IdempotencyStore,
  MessageSender,
  MessagesApp,
  RunOutcome,
  SendLookup,
  SendPart,
  SendRequest,
  SendResult,
} from '../domain/ports/sending.ts';
import { problem } from '../domain/problems.ts';
import { type AttachmentRules, attachmentMistakes } from './attachments.ts';
import { Confirmations, type Expectation } from './confirm.ts';
import { NOT_RUNNING, sendFailure } from './failure.ts';
import { type EarlierSend, Idempotency, requestHash } from './idempotency.ts';
import { TolerantLookup } from './lookup.ts';
import { SerialQueue } from './queue.ts';
import { type Route, route } from './recipient.ts';
import { Staging } from './staging.ts';

/** Decision A7. */
const SHUTDOWN_LIMIT_MS = 8000;
/** Provisional answers whose row may still be found for a repeat of the same key. */
const LATE_KEPT = 1000;

export interface SenderOptions {
  readonly messages: MessagesApp;
  readonly lookup: SendLookup;
  readonly idempotency: IdempotencyStore;
  readonly clock: Clock;
  readonly log: Log;
  /** `send.confirm_ms` (decision D5). */
  readonly confirmMs: number;
  readonly attachments: AttachmentRules;
  /** Folder for copies of attachments; absent where Messages reads every path (decision D8). */
  readonly stagingFolder?: string;
  /** Calls back when chat.db may have changed. */
  readonly onChange?: (look: () => void) => Cancel;
}

/** Sends messages, one at a time, and finds each in chat.db (decision D). */
export class Sender implements MessageSender {
  readonly #options: SenderOptions;
  readonly #queue = new SerialQueue();
  readonly #lookup: TolerantLookup;
  readonly #confirmations: Confirmations;
  readonly #idempotency: Idempotency;
  readonly #staging: Staging | undefined;
  readonly #stop = new AbortController();
  /** By key: the expectation behind a provisional answer. */
  readonly #late = new Map<string, Expectation>();

  constructor(options: SenderOptions) {
    const { clock, log, confirmMs, onChange, stagingFolder } = options;
    this.#options = options;
    this.#lookup = new TolerantLookup(options.lookup, log);
    this.#confirmations = new Confirmations({
      lookup: this.#lookup,
      clock,
      confirmMs,
      ...(onChange === undefined ? {} : { onChange }),
    });
    this.#idempotency = new Idempotency(options.idempotency, clock, log);
    this.#staging = stagingFolder === undefined ? undefined : new Staging(stagingFolder, clock, log);
  }

  /** Removes copies of attachments that an earlier process left. */
  async start(): Promise<void> {
    await this.#staging?.start();
  }

  /** Decision A7: what waits is refused at once, what runs has 8 s. Resolves when nothing runs any more. */
  async close(): Promise<void> {
    const cancel = this.#options.clock.after(SHUTDOWN_LIMIT_MS, () => this.#stop.abort());
    await this.#queue.close();
    cancel();
    this.#staging?.close();
  }

  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]> {
    return attachmentMistakes(paths, this.#options.attachments);
  }

  async send(request: SendRequest): Promise<SendResult> {
    const key = request.idempotencyKey;
    if (key === undefined) return this.#inTurn(request, () => this.#sendNow(request));
    const hash = requestHash(request);
    const leave = this.#idempotency.enter(key, hash);
    try {
      // A repeat needs no turn, and its attachments may be gone by now.
      const earlier = this.#idempotency.find(key, hash);
      if (earlier !== undefined) return this.#replay(request, key, earlier);
      return await this.#inTurn(request, () => this.#sendOnce(request, key, hash));
    } finally {
      leave();
    }
  }

  /** Takes its place in the queue at once; a refusal of the attachments need not wait for its turn. */
  async #inTurn(request: SendRequest, work: () => Promise<SendResult>): Promise<SendResult> {
    const checked = this.#refuseMistakes(request);
    const sent = this.#queue.add(async () => {
      await checked;
      return work();
    });
    // Whichever fails first is the answer; the other one's failure is the same or no longer of interest.
    const [, result] = await Promise.all([checked, sent]);
    return result;
  }

  async #refuseMistakes({ body, attachments }: SendRequest): Promise<void> {
    const isEmpty = body === '' && attachments.length === 0;
    const mistakes = isEmpty
      ? [{ pointer: '/body', message: 'There is nothing to send.' }]
      : await this.attachmentMistakes(attachments);
    if (mistakes.length === 0) return;
    throw problem('invalid_request', { summary: 'This message cannot be sent.' }, { mistakes });
  }

  async #sendOnce(request: SendRequest, key: string, hash: string): Promise<SendResult> {
    // Durable before the run, and the outcome before the answer: whenever a crash comes, one send at most.
    const earlier = this.#idempotency.claim(key, hash);
    if (earlier !== undefined) return this.#replay(request, key, earlier);
    let expectation: Expectation | undefined;
    try {
      expectation = await this.#deliver(request);
    } catch (error) {
      this.#idempotency.keepFailure(key, error);
      throw error;
    }
    this.#idempotency.keep(key, this.#outcome(key, expectation));
    return this.#answer(request, expectation?.rowId, false);
  }

  async #sendNow(request: SendRequest): Promise<SendResult> {
    const expectation = await this.#deliver(request);
    return this.#answer(request, expectation?.rowId, false);
  }

  #outcome(key: string, expectation: Expectation | undefined): EarlierSend {
    if (expectation?.rowId !== undefined) return { state: 'confirmed', rowId: expectation.rowId };
    if (expectation !== undefined) this.#late.set(key, expectation);
    for (const oldest of this.#late.keys()) {
      if (this.#late.size <= LATE_KEPT) break;
      this.#late.delete(oldest);
    }
    return { state: 'provisional' };
  }

  #replay(request: SendRequest, key: string, earlier: EarlierSend): SendResult {
    if (earlier.state === 'confirmed') return this.#answer(request, earlier.rowId, true);
    const late = this.#late.get(key);
    const rowId = late === undefined ? undefined : this.#confirmations.find(late);
    if (rowId !== undefined) {
      this.#late.delete(key);
      this.#idempotency.keep(key, { state: 'confirmed', rowId });
    }
    return this.#answer(request, rowId, true);
  }

  /** Runs every part and waits for the row of the first; gives back what was expected of it. */
  async #deliver(request: SendRequest): Promise<Expectation | undefined> {
    const { clock, log } = this.#options;
    const { requestId } = request;
    const startedMs = clock.monotonic();
    const partsSent: string[] = [];
    const expectations: (Expectation | undefined)[] = [];
    try {
      const to = route(request.recipient, this.#lookup.target(request.recipient));
      for (const { pointer, content } of await this.#staged(partsOf(request))) {
        expectations.push(await this.#deliverPart(to, content, partsSent));
        partsSent.push(pointer);
      }
    } catch (error) {
      const why = isAppError(error) ? { code: error.code, ...error.extra } : { parts_sent: partsSent };
      log.warn('a send failed', { requestId, ...why });
      throw error;
    }
    const [first] = expectations;
    if (first !== undefined) await this.#confirmations.wait(first, this.#stop.signal);
    const tookMs = Math.round(clock.monotonic() - startedMs);
    log.info('sent', { requestId, parts: partsSent.length, row_id: first?.rowId ?? null, took_ms: tookMs });
    return first;
  }

  async #deliverPart(
    to: Route,
    content: SendPart['content'],
    partsSent: readonly string[],
  ): Promise<Expectation | undefined> {
    const expectation = this.#confirmations.expect(to.address, content);
    const { recipient, chatIds, service } = to;
    const outcome = await this.#run({ recipient, chatIds, service, content });
    if (outcome.kind === 'done') return expectation;
    const failure = sendFailure(outcome, partsSent);
    // One that may have gone out keeps its claim, so that its row is not taken for a later send's.
    if (failure.code !== 'send_outcome_unknown') this.#confirmations.drop(expectation);
    throw failure;
  }

  /** All copies are made before anything is sent: a full disk leaves no half message. */
  async #staged(parts: readonly Part[]): Promise<readonly Part[]> {
    const staging = this.#staging;
    if (staging === undefined) return parts;
    return Promise.all(
      parts.map(async ({ pointer, content }) => ({
        pointer,
        content: 'body' in content ? content : { attachment: await staging.copy(content.attachment) },
      })),
    );
  }

  /** Decision D2: once more after opening Messages, only when it certainly did not run. */
  async #run(part: SendPart): Promise<RunOutcome> {
    const { messages } = this.#options;
    const { signal } = this.#stop;
    if (signal.aborted) return { kind: 'killed' };
    const outcome = await messages.run(part, signal);
    if (outcome.kind !== 'failed' || outcome.number !== NOT_RUNNING) return outcome;
    await Promise.race([messages.open(), aborted(signal)]);
    return signal.aborted ? outcome : messages.run(part, signal);
  }

  #answer(request: SendRequest, rowId: number | undefined, replayed: boolean): SendResult {
    const message = rowId === undefined ? undefined : this.#lookup.message(rowId);
    return { confirmed: message !== undefined, message: message ?? this.#provisional(request), replayed };
  }

  /** Decision D6. */
  #provisional({ body, attachments }: SendRequest): Message {
    const timestamp = `${new Date(this.#options.clock.now()).toISOString().slice(0, 19)}Z`;
    return {
      id: '',
      guid: '',
      conversation_id: '',
      // What decision B3 falls back to: the own address is only known from the row.
      sender: 'me',
      body,
      attachments,
      timestamp,
      is_from_me: true,
      status: 'pending',
    };
  }
}

interface Part {
  /** Of the request's member that it comes from. */
  readonly pointer: string;
  readonly content: SendPart['content'];
}

/** Body first, then each attachment (decision D1). */
function partsOf({ body, attachments }: SendRequest): readonly Part[] {
  const files = attachments.map((attachment, index) => ({ pointer: `/attachments/${index}`, content: { attachment } }));
  return body === '' ? files : [{ pointer: '/body', content: { body } }, ...files];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

import { randomBytes } from 'node:crypto';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { HOUR_MS } from '../../core/model/durations.ts';
import { errorCode, isChatDbAway } from '../../core/model/errors.ts';
import { mayHaveBeenSent } from '../../core/model/failed-send.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { Cancel, Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { MessageReader } from '../../core/model/ports/reading-ports.ts';
import type { MessageSender } from '../../core/model/ports/sending-ports.ts';
import type { StatusWarning } from '../../core/model/status.ts';
import { type ProvedSelfChat, SELF_CHAT, selfChatProblem } from '../self-chat/port.ts';
import { type CanaryRows, foundRows } from './found-rows.ts';
import type { CanaryRecord, CanaryStore } from './ports.ts';
import { canaryStore } from './store.ts';
import { type CanaryReport, type CanaryState, canaryText } from './text.ts';

const EVERY_MS = 6 * HOUR_MS;
const ARRIVES_WITHIN_MS = 10 * 60_000;
const CHECK_EVERY_MS = 60_000;
const NOT_CHECKED = 'could not check on the canary';
const NOT_SENT = 'a canary could not be sent';
const NOT_FOUND = 'could not look for a canary';
const NOT_STORED = 'could not store what became of a canary';
/** Longest time for which a row that Postern sent may look like an incoming one in chat.db (decision U1). */
const OWN_MARKED_WITHIN_MS = 5000;
/** Push counts as dead once this many canaries in a row did not arrive, and nothing else came either. */
const LOST_CANARIES = 3;

export interface CanaryParts {
  /** `self.address`. */
  readonly address: string;
  readonly selfChat: ProvedSelfChat;
  readonly store: CanaryStore;
  readonly reader: Pick<MessageReader, 'listMessages' | 'message'>;
  readonly sender: Pick<MessageSender, 'send'>;
  readonly clock: Clock;
  /**
   * A clock that stops while the Mac sleeps. No message can arrive during sleep, so sleep must not count as waiting for
   * a message.
   */
  readonly awake: Clock;
  readonly log: Log;
}

/** Creates the canary, and makes it look for its most recent message after each commit to chat.db. */
export function openCanary(core: Core, address: string): Running {
  const { host, state, detector, ports } = core;
  const { chat: selfChat } = ports.get(SELF_CHAT);
  const canary = new Canary({ ...core, ...host, reader: core.messages, address, selfChat, store: canaryStore(state) });
  detector.onCommit(() => canary.noteCommit());
  selfChat.onProved(() => canary.noteProved());
  return {
    start: () => canary.start(),
    close: () => canary.close(),
    status: () => canary.report(),
    warning: () => canary.warning(),
    metrics(gauge) {
      const { state: now, arrived_at: arrivedAt, push_dead_since: since, delay_ms: delayMs } = canary.report();
      const seconds = (at: string | null): number | null => (at === null ? null : Date.parse(at) / 1000);
      gauge('postern_push_dead', "Whether the canary found Apple's push dead.", now === 'push_dead' ? 1 : 0);
      gauge(
        'postern_push_dead_since_timestamp_seconds',
        'Send time of the first canary that did not arrive.',
        seconds(since),
      );
      gauge('postern_canary_arrived_timestamp_seconds', 'When a canary last arrived.', seconds(arrivedAt));
      gauge(
        'postern_canary_delay_seconds',
        'How long the last canary took to arrive.',
        delayMs === null ? null : delayMs / 1000,
      );
    },
  };
}

/**
 * Sends a short message, the canary, to the owner's own address every six hours and checks whether it arrives (decision
 * AA4). Within one run, the six hours are measured on the monotonic clock, so that setting the Mac's clock never sends
 * a canary.
 */
export class Canary {
  readonly #parts: CanaryParts;
  #record: CanaryRecord | undefined;
  /** When the next canary is due, on the monotonic clock. */
  #nextAtMs = 0;
  /** When the most recent canary was sent, on the monotonic clock; undefined if this run has sent none. */
  #sentAtMs: number | undefined;
  #waitingSinceMs = 0;
  #isLoaded = false;
  #isSending = false;
  #isLooking = false;
  #isClosed = false;
  #cancel: Cancel | undefined;
  #work: Promise<void> = Promise.resolve();
  /** The codes with which steps fail, until they succeed. Key: what the log says. */
  readonly #failures = new Map<string, string>();

  constructor(parts: CanaryParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#waitingSinceMs = this.#parts.awake.monotonic();
    this.#work = this.#check();
  }

  /** Stops sending canaries. Resolves once a running send or check has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    await this.#work;
  }

  /** Looks for the most recent canary if it may still arrive. Called after each commit to chat.db. */
  noteCommit(): void {
    if (this.#record?.outcome === 'waiting' && !this.#isSending) void this.#look();
  }

  /** Sends the canary that waited until the conversation was proved. */
  noteProved(): void {
    if (this.#isLoaded) this.#work = this.#work.then(async () => this.#check());
  }

  report(): CanaryReport {
    const { sentMs, arrivedMs, delayMs, deadSinceMs, lost = 0, problem: code } = this.#record ?? {};
    return {
      state: this.#state(),
      sent_at: textOf(sentMs),
      arrived_at: textOf(arrivedMs),
      delay_ms: delayMs ?? null,
      push_dead_since: lost < LOST_CANARIES ? null : textOf(deadSinceMs),
      problem: code ?? null,
    };
  }

  warning(): StatusWarning | undefined {
    const { state, push_dead_since: since } = this.report();
    const { lost } = this.#record ?? {};
    if (state !== 'push_dead' || since === null) return undefined;
    return {
      code: 'push_dead',
      tone: 'bad',
      title: 'Messages may not arrive',
      menu: `No push from Apple since ${since.slice(0, 16).replace('T', ' ')} UTC`,
      text:
        `Apple's push has been dead since ${since}. The last ${lost} messages that Postern sent to your own address have ` +
        'not arrived, nor has any other. Quit Messages and open it again.',
    };
  }

  /** Continues where the previous run stopped. */
  #load(): void {
    const { clock } = this.#parts;
    const record = this.#loaded();
    this.#isLoaded = true;
    this.#nextAtMs = clock.monotonic();
    if (record === undefined) return;
    this.#record = record;
    this.#nextAtMs += Math.max(Math.min(record.sentMs, clock.now()) + EVERY_MS - clock.now(), 0);
    // A send time in the future means that the Mac's clock was set back. Counts the canary as sent now.
    if (record.sentMs > clock.now()) this.#keep({ ...record, sentMs: clock.now() });
  }

  /** Loads the record. A record from before the conversation was proved belongs to another chat.db. */
  #loaded(): CanaryRecord | undefined {
    const { store, address, selfChat } = this.#parts;
    const record = store.load(address);
    const provedMs = selfChat.provedMs();
    return provedMs === undefined || (record?.sentMs ?? 0) < provedMs ? undefined : record;
  }

  #state(): CanaryState {
    if (!this.#parts.selfChat.isProved()) return 'address_unproved';
    const { outcome, arrivedMs, lost = 0 } = this.#record ?? {};
    if (arrivedMs === undefined || arrivedMs === null) return 'unproved';
    if (lost >= LOST_CANARIES) return 'push_dead';
    if (outcome === 'lost' || (outcome === 'waiting' && lost > 0)) return 'unproved';
    return outcome === 'not_sent' || outcome === 'unknown' ? outcome : 'arriving';
  }

  /** Does what is due, and checks again later, whatever fails: no canary may end the service. */
  async #check(): Promise<void> {
    const { clock } = this.#parts;
    this.#cancel?.();
    if (this.#isClosed) return;
    try {
      if (!this.#isLoaded) this.#load();
      if (this.#record !== undefined && this.#record.outcome !== 'arrived') await this.#look();
      if (!this.#isClosed && clock.monotonic() >= this.#nextAtMs) await this.#send();
      this.#failures.delete(NOT_CHECKED);
    } catch (error) {
      this.#noteFailure(NOT_CHECKED, error);
    }
    if (this.#isClosed) return;
    const leftMs = this.#nextAtMs - clock.monotonic();
    this.#cancel = clock.after(leftMs > 0 ? Math.min(leftMs, CHECK_EVERY_MS) : CHECK_EVERY_MS, () => {
      this.#work = this.#check();
    });
  }

  /**
   * Sends the next canary. Does nothing while the conversation with `self.address` is not proved to be the owner's own.
   */
  async #send(): Promise<void> {
    const { sender, clock, awake, log, address } = this.#parts;
    const number = randomBytes(4).toString('hex');
    const before = this.#record;
    this.#isSending = true;
    try {
      if (this.#provedChat() === undefined) return;
      // Saves the record before sending, so that after a crash the next canary follows in six hours and not at once.
      const record: CanaryRecord = {
        address,
        number,
        sentMs: clock.now(),
        outcome: 'waiting',
        problem: null,
        arrivedMs: before?.arrivedMs ?? null,
        delayMs: before?.delayMs ?? null,
        deadSinceMs: before?.deadSinceMs ?? null,
        lost: before?.lost ?? 0,
      };
      this.#parts.store.save(record);
      this.#record = record;
      this.#failures.delete(NOT_SENT);
      this.#sentAtMs = clock.monotonic();
      this.#nextAtMs = this.#sentAtMs + EVERY_MS;
      await sender.send({
        recipient: address,
        body: canaryText(number),
        attachments: [],
        idempotencyKey: { kind: 'canary', key: number },
        check: () => {
          if (this.#provedChat() === undefined) throw selfChatProblem('self_chat_disabled');
        },
      });
    } catch (error) {
      this.#noteUnsent(error, number);
    } finally {
      this.#isSending = false;
      this.#waitingSinceMs = awake.monotonic();
    }
    log.debug('the attempt to send a canary has ended', { outcome: this.#record?.outcome });
    await this.#look();
  }

  #noteUnsent(error: unknown, number: string): void {
    const code = this.#noteFailure(NOT_SENT, error);
    // A record with another number belongs to the previous canary. In that case this canary was not sent, because its
    // record could not be saved.
    if (this.#record?.number !== number) return;
    this.#keep({ ...this.#record, outcome: mayHaveBeenSent({ code }) ? 'waiting' : 'not_sent', problem: code });
  }

  /** Looks for the most recent canary in chat.db, and stores the result. */
  async #look(): Promise<void> {
    const record = this.#record;
    if (record === undefined || this.#isLooking) return;
    this.#isLooking = true;
    try {
      const found = await this.#find(record);
      // Another canary may have been sent in the meantime.
      if (found === undefined || this.#record !== record || this.#isClosed) return;
      const after = this.#after(record, found);
      if (after.outcome !== record.outcome || after.lost !== record.lost) this.#keep(after);
      this.#failures.delete(NOT_FOUND);
    } catch (error) {
      if (!isChatDbAway(error)) this.#noteFailure(NOT_FOUND, error);
    } finally {
      this.#isLooking = false;
    }
  }

  async #find(record: CanaryRecord): Promise<CanaryRows | undefined> {
    const chat = this.#provedChat();
    const isMarked = this.#waitedMs() >= OWN_MARKED_WITHIN_MS;
    return chat === undefined ? undefined : foundRows(this.#parts.reader, chat, record, isMarked);
  }

  #after(record: CanaryRecord, { isSent, hasFailed, hasArrived, hasOthers }: CanaryRows): CanaryRecord {
    const { clock, log } = this.#parts;
    if (hasArrived) {
      // The clock of another run is not this one's, and the Mac's time may have been set since.
      const delayMs = this.#sentAtMs === undefined ? null : Math.round(clock.monotonic() - this.#sentAtMs);
      if (record.lost >= LOST_CANARIES) log.info("Apple's push works again", { delay_ms: delayMs });
      return {
        ...record,
        outcome: 'arrived',
        problem: null,
        arrivedMs: clock.now(),
        delayMs,
        deadSinceMs: null,
        lost: 0,
      };
    }
    if (record.lost > 0 && hasOthers) return { ...record, deadSinceMs: null, lost: 0 };
    if (hasFailed) return { ...record, outcome: 'not_sent', problem: 'send_failed' };
    if (record.outcome !== 'waiting' || this.#waitedMs() < ARRIVES_WITHIN_MS) return record;
    if (!isSent) return { ...record, outcome: 'unknown', problem: record.problem ?? 'send_outcome_unknown' };
    log.warn('a canary did not arrive', { sent_at: isoSecond(record.sentMs) });
    // A missing copy proves nothing if none has ever come on this Mac, or if other messages come: Messages does not
    // always write two rows (claude-plugins-official #4251).
    if (record.arrivedMs === null || hasOthers) return { ...record, outcome: 'lost', problem: null };
    const deadSinceMs = record.deadSinceMs ?? record.sentMs;
    return { ...record, outcome: 'lost', problem: null, deadSinceMs, lost: record.lost + 1 };
  }

  /**
   * Returns for how many milliseconds the Mac has been awake since the most recent attempt to send a canary ended.
   * After a restart, counts from the start of this run.
   */
  #waitedMs(): number {
    return this.#parts.awake.monotonic() - this.#waitingSinceMs;
  }

  #provedChat(): string | undefined {
    try {
      return this.#parts.selfChat.proof()?.chat;
    } catch (error) {
      if (isChatDbAway(error)) return undefined; // health says so
      throw error;
    }
  }

  /** Keeps what became of the canary. If it cannot be stored, the record of the next canary stores it. */
  #keep(record: CanaryRecord): void {
    this.#record = record;
    try {
      this.#parts.store.save(record);
      this.#failures.delete(NOT_STORED);
    } catch (error) {
      this.#noteFailure(NOT_STORED, error);
    }
  }

  /** Logs a failure, unless the same step failed for the same reason the last time. Returns the reason's code. */
  #noteFailure(message: string, error: unknown): string {
    const code = errorCode(error) ?? 'internal_error';
    if (this.#failures.get(message) !== code) this.#parts.log.warn(message, { code });
    this.#failures.set(message, code);
    return code;
  }
}

function textOf(ms: number | null | undefined): string | null {
  return ms === undefined || ms === null ? null : isoSecond(ms);
}

import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../../core/model/durations.ts';
import { errorCode, type Mistake } from '../../core/model/errors.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { Deferral, DeferredBy, DeferredSend } from '../../core/model/ports/deferral-ports.ts';
import type { Cancel } from '../../core/model/ports/host-ports.ts';
import type { DeferringStore, SendRequest } from '../../core/model/ports/sending-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { sendChoices } from '../../core/model/send-service.ts';
import type { StoredBytes } from '../../core/model/upload.ts';
import { requestHash } from '../../core/sender/idempotency.ts';
import type { UploadStore } from '../../core/state/upload-store.ts';
import type { ScheduledOnPhone, ScheduledSends, ScheduledStore, StoredScheduled } from './ports.ts';
import { scheduledProblem } from './problems.ts';
import type { RunParts, ScheduledRun } from './run.ts';
import { isOver, SCHEDULED_STATES, type ScheduledSend, TOO_LATE } from './scheduled.ts';

const YEAR_MS = 366 * DAY_MS;
const MAX_WAITING = 500;
/**
 * Longest time between two checks for due sends. One long timer could be late: timers do not run while the Mac sleeps,
 * and the clock may be changed.
 */
const LOOK_EVERY_MS = 15_000;

export interface SchedulerParts extends Pick<RunParts, 'store' | 'files' | 'guests' | 'clock' | 'log'> {
  readonly idempotency: DeferringStore;
  readonly sender: {
    /** Makes the checks that `send` makes before it queues the send, and throws the same errors. */
    check(request: SendRequest, earlier: readonly Mistake[]): Promise<unknown>;
  };
  readonly uploads: Pick<UploadStore, 'left' | 'assertFit'>;
}

/**
 * Sends messages at their time, each at most once: just before Messages is asked, the state changes durably from
 * `scheduled` to `sending`. Only a send in the state `scheduled` can be cancelled.
 */
export class SendScheduler implements Deferral {
  readonly #parts: SchedulerParts;
  readonly #run: ScheduledRun;
  #cancelTimer: Cancel | undefined;
  #running: Promise<void> | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(parts: SchedulerParts, run: ScheduledRun) {
    this.#parts = parts;
    this.#run = run;
  }

  /** Continues the scheduled sends of an earlier process. Call this once sends are possible. */
  start(): void {
    this.#isStarted = true;
    this.#parts.store.prune(this.#parts.clock.now());
    this.#run.resume();
    this.#look();
  }

  /** Resolves once nothing is being sent. Waiting messages are sent after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#run.close();
    await this.#running;
  }

  mistakes({ sendAtMs = 0, sendUntilMs = 0 }: SendRequest): readonly Mistake[] {
    const nowMs = this.#parts.clock.now();
    const late = 'must not be before `send_at`, nor more than a year after it.';
    return [
      ...(sendAtMs <= nowMs ? [{ pointer: '/send_at', message: '`send_at` must be in the future.' }] : []),
      ...(sendAtMs > nowMs + YEAR_MS
        ? [{ pointer: '/send_at', message: '`send_at` must be within a year from now.' }]
        : []),
      ...(sendUntilMs < sendAtMs || sendUntilMs > sendAtMs + YEAR_MS
        ? [{ pointer: '/send_until', message: `\`send_until\` ${late}` }]
        : []),
    ];
  }

  /**
   * Stores a request, which is sent at its `sendAtMs`. Until a day after `sendUntilMs`, a request with the same
   * `Idempotency-Key` returns the same entry. Also throws `too_many_scheduled`.
   */
  async add(request: SendRequest, by: DeferredBy): Promise<DeferredSend> {
    const { store, idempotency, sender, files, clock } = this.#parts;
    const { attachments, uploads = [] } = request;
    const id = by.approved?.id ?? randomUUID();
    const key = request.idempotencyKey ?? { kind: 'scheduled', key: id };
    const hash = requestHash(request);
    const earlier = idempotency.find(key, clock.now());
    if (earlier !== undefined) return this.#again(earlier, hash);
    const { sendAtMs = 0, sendUntilMs = 0 } = request;
    // An approved send was checked when it was held. If its time has passed since, it leaves at once.
    if (by.approved === undefined) await sender.check(request, this.mistakes(request));
    this.#assertRoom(by.keyId);
    const left = this.#parts.uploads.left(by.keyId, uploads);
    const isPlain = attachments.length + uploads.length === 0;
    const held = by.approved?.files ?? (isPlain ? [] : await files.copy(id, { attachments, uploads }, left));
    const nowMs = clock.now();
    const { recipient, body, requestId = null } = request;
    const entry: StoredScheduled = {
      id,
      source: 'postern',
      key_id: by.keyId,
      state: 'scheduled',
      to: recipient,
      text: body,
      attachments: held,
      ...sendChoices(request),
      send_at: isoSecond(sendAtMs),
      send_until: isoSecond(sendUntilMs),
      created_at: isoSecond(nowMs),
      ended_at: null,
      message_id: null,
      problem: null,
      sendAtMs,
      sendUntilMs,
      createdMs: nowMs,
      begunMs: null,
      members: by.approved?.members ?? null,
      isApproved: by.approved !== undefined,
      requestId,
    };
    let claim: ReturnType<DeferringStore['defer']>;
    try {
      request.check?.();
      this.#assertRoom(by.keyId);
      // Other files may have been stored during the copy.
      if (by.approved === undefined) this.#parts.uploads.assertFit(held, by.keyId, uploads);
      store.prune(nowMs);
      claim = idempotency.defer(key, hash, { id, nowMs, untilMs: sendUntilMs }, () => store.add(entry));
    } catch (error) {
      if (by.approved === undefined) await files.remove(id);
      throw error;
    }
    if (claim !== 'claimed') {
      if (by.approved === undefined) await files.remove(id);
      return this.#again(claim, hash);
    }
    this.#look();
    return deferred(shownScheduled(store.get(id) ?? entry), false);
  }

  /** Cancels a send. Throws `too_late` if its state is no longer `scheduled`. */
  cancel(entry: StoredScheduled): void {
    const { store, clock, files, guests } = this.#parts;
    if (!store.end(entry.id, 'scheduled', 'cancelled', { atMs: clock.now() })) {
      const { state } = store.get(entry.id) ?? entry;
      throw scheduledProblem('too_late', { why: TOO_LATE[state === 'scheduled' ? 'sending' : state] });
    }
    void files.remove(entry.id);
    guests.noteDeferred(entry, 'cancelled');
  }

  cancelAll(keyId: string): number {
    const { store, log } = this.#parts;
    let cancelled = 0;
    for (const entry of store.list({ states: ['scheduled'], keyId })) {
      try {
        this.cancel(entry);
        cancelled += 1;
      } catch (error) {
        // The send was handed to Messages, or ended, after the list was read.
        log.info('a scheduled send could not be cancelled', { id: entry.id, code: errorCode(error) });
      }
    }
    return cancelled;
  }

  wasNotSent(id: string): boolean {
    const entry = this.#parts.store.get(id);
    return entry !== undefined && ['failed', 'missed', 'cancelled'].includes(entry.state);
  }

  keptBytes(): readonly StoredBytes[] {
    return this.#parts.store.keptBytes();
  }

  openIds(): readonly string[] {
    return this.#parts.store.openIds();
  }

  #again(earlier: Exclude<ReturnType<DeferringStore['defer']>, 'claimed'>, hash: string) {
    const { outcome } = earlier;
    const entry = outcome.state === 'deferred' ? this.#parts.store.get(outcome.id) : undefined;
    if (earlier.requestHash !== hash || entry === undefined) throw problem('idempotency_key_reused');
    return deferred(shownScheduled(entry), true);
  }

  #assertRoom(keyId: string): void {
    if (this.#parts.store.countWaiting(keyId) < MAX_WAITING) return;
    throw scheduledProblem('too_many_scheduled', { max: MAX_WAITING });
  }

  /** Sends what is due, one after the other, then waits until the next send is due. */
  #look(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (!this.#isStarted || this.#isClosed || this.#running !== undefined) return;
    const { store, clock, log } = this.#parts;
    let nextMs: number | undefined;
    try {
      nextMs = this.#run.nextMs(store.nextDueMs());
    } catch (error) {
      log.error('scheduled sends could not be read', { code: errorCode(error) });
      nextMs = clock.now() + LOOK_EVERY_MS;
    }
    if (nextMs === undefined) return;
    const waitMs = nextMs - clock.now();
    if (waitMs > 0) {
      this.#cancelTimer = clock.after(Math.min(waitMs, LOOK_EVERY_MS), () => this.#look());
      return;
    }
    this.#running = this.#run
      .sendDue()
      .catch((error: unknown) => log.error('scheduled sends could not be read', { code: errorCode(error) }))
      .finally(() => {
        this.#running = undefined;
        // Waits before trying again, because a failure to store something would otherwise repeat without a pause.
        if (!this.#isClosed) this.#cancelTimer = clock.after(1000, () => this.#look());
      });
  }
}

/**
 * Returns the owner's view of the scheduled sends of all keys and of the phone. `onPhone` lists the messages of Send
 * Later, which Messages itself will send.
 */
export function allScheduled(
  scheduler: SendScheduler,
  store: ScheduledStore,
  onPhone: ScheduledOnPhone,
): ScheduledSends {
  const ofPhone = (id: string): ScheduledSend | undefined =>
    id.startsWith('phone-') ? onPhone().find((one) => one.id === id) : undefined;
  const stored = (id: string): StoredScheduled => {
    const entry = store.get(id);
    if (entry === undefined) throw scheduledProblem('scheduled_not_found');
    return entry;
  };
  return {
    list({ state, source, keyId }) {
      const states = state === undefined ? SCHEDULED_STATES.slice(0, 2) : [state];
      const own = source === 'phone' ? [] : store.list({ states, keyId }).map(shownScheduled);
      const isPhoneAsked = source !== 'postern' && states.includes('scheduled');
      const all = [...own, ...(isPhoneAsked ? onPhone() : [])];
      return all.toSorted((a, b) => a.send_at.localeCompare(b.send_at));
    },
    get: (id) => ofPhone(id) ?? shownScheduled(stored(id)),
    cancel(id) {
      if (ofPhone(id) !== undefined) throw scheduledProblem('scheduled_on_phone');
      scheduler.cancel(stored(id));
    },
  };
}

/** Returns an entry without its internal members. Also omits the text once the send is over. */
function shownScheduled(stored: StoredScheduled): ScheduledSend {
  const { sendAtMs: _at, sendUntilMs: _until, createdMs: _created, begunMs: _begun, ...rest } = stored;
  const { members: _members, isApproved: _approved, requestId: _request, ...shown } = rest;
  return isOver(shown) ? { ...shown, text: null } : shown;
}

function deferred(scheduled: ScheduledSend, replayed: boolean): DeferredSend {
  const { id, state, send_at: at } = scheduled;
  const text = isOver(scheduled)
    ? `It was scheduled for ${at} as "${id}" and is ${state}. It was not scheduled again.`
    : `Scheduled for ${at} as "${id}" (${state}). Until then scheduled_cancel can cancel it.`;
  const told = { text, state, scheduled_id: id };
  return { id, body: { scheduled }, path: `scheduled/${id}`, told, replayed };
}

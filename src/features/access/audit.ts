import { createHmac } from 'node:crypto';
import type { AuditEntry } from '../../client/access-types.ts';
import { type KeyUse, NO_USE } from '../../client/key-types.ts';
import { HOUR_MS, MINUTE_MS } from '../../core/model/durations.ts';
import { errorCode } from '../../core/model/errors.ts';
import type { Cancel, Clock, Log } from '../../core/model/ports/host-ports.ts';
import { startOfLocalDay } from '../../core/runtime/clock.ts';
import type { AuditNote, AuditQuery, AuditStore, KeyUses, SendCounts } from './ports.ts';

/**
 * A limited key's refusals, dry runs, scheduled and cancelled sends name at most 10 targets per minute and outcome.
 * This value stands for all further targets, which share one line of the log.
 */
export const OTHER_TARGETS = '(others)';

/** The `key_id` of a decision that the owner made with a tapback. */
export const TAPBACK = 'tapback';

/** Delay before changed counts of repetitions are written to the log. */
const FLUSH_MS = 1000;
const TRIM_EVERY = 1000;
const MAX_FOLDED = 10_000;
/** Maximum number of targets that get their own line for the same key, action, outcome and minute. */
const MAX_TARGETS = 10;

/** A line of the log that also counts repetitions, until the end of its minute or hour. */
interface Folded {
  readonly id: number;
  readonly untilMs: number;
  more: number;
}

/** Writes the audit log. Repetitions become one line with a count, so that a loop does not cause a write each time. */
export class Audit {
  readonly #store: AuditStore;
  readonly #clock: Clock;
  readonly #secret: string;
  readonly #log: Log;
  readonly #folded = new Map<string, Folded>();
  readonly #changed = new Set<Folded>();
  /**
   * Key: the key id, the action and the outcome, joined. Value: the targets that have their own line in this minute.
   */
  readonly #targets = new Map<string, Set<string | null>>();
  #targetsOfMinute = 0;
  #cancelFlush: Cancel | undefined;
  #added = 0;

  constructor(store: AuditStore, clock: Clock, secret: string, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#secret = secret;
    this.#log = log;
    store.trim(clock.now());
  }

  /**
   * Returns a hash of the text, keyed with `#secret`. If the hash had no key, anyone who has the log could find a short
   * text by guessing it.
   */
  hmac(text: string): string {
    return createHmac('sha256', this.#secret).update(text).digest('hex');
  }

  /** Returns when an equal request of a key was noted, if that was since `sinceMs`. */
  ask(...request: Parameters<AuditStore['ask']>): ReturnType<AuditStore['ask']> {
    return this.#store.ask(...request);
  }

  /** Counts the sends of a key, as its caps count them. */
  sends(...asked: Parameters<AuditStore['sends']>): SendCounts {
    return this.#store.sends(...asked);
  }

  note(note: AuditNote, atMs = this.#clock.now()): void {
    this.#add(note, atMs);
  }

  /**
   * Writes how a send ended. Logs a failure instead of throwing it, because the message may have been sent, and the
   * client would otherwise be told that it was not.
   */
  noteEnd(note: AuditNote): void {
    try {
      this.note(note);
    } catch (error) {
      this.#log.error('could not note the outcome of a send in the audit log', { code: errorCode(error) });
    }
  }

  /** Writes one line per key, code, target and minute. Targets after the first ten share one line. */
  noteRefusal(keyId: string, code: string, target: string | null = null): void {
    this.#fold(this.#withFewTargets({ keyId, action: 'refused', outcome: code, target }), MINUTE_MS);
  }

  /**
   * Writes one line per key, target and minute. The line has no hash of the text, because one line can stand for
   * several texts.
   */
  noteDryRun(keyId: string, target: string): void {
    this.#fold(this.#withFewTargets({ keyId, action: 'send', outcome: 'dry_run', target }), MINUTE_MS);
  }

  /**
   * Writes one line per key, outcome, target and minute. The line has no hash of the text: the line about the request
   * has it.
   */
  noteScheduling(keyId: string, outcome: 'scheduled' | 'cancelled', target: string): void {
    this.#fold(this.#withFewTargets({ keyId, action: 'schedule', outcome, target }), MINUTE_MS);
  }

  /** Writes one line per key, conversation and hour. */
  noteRead(keyId: string, action: 'read' | 'event', conversationIds: Iterable<string>): void {
    for (const target of conversationIds) {
      this.#fold({ keyId, action, outcome: 'shown', target }, HOUR_MS);
    }
  }

  list(query: AuditQuery): readonly AuditEntry[] {
    this.#flush();
    return this.#store.list(query);
  }

  /** Counts the actions of limited keys since `sinceMs`, in spans of `lengthMs`. */
  uses(sinceMs: number, lengthMs: number): readonly KeyUses[] {
    this.#flush();
    return this.#store.uses(sinceMs, lengthMs);
  }

  /** Returns the numbers of the limited keys' actions since midnight. Key: the id of a limited key. */
  usedToday(): ReadonlyMap<string, KeyUse> {
    const midnightMs = startOfLocalDay(this.#clock.now());
    const today = new Map<string, KeyUse>();
    // The huge length puts the whole day into one span.
    for (const { keyId, what, count } of this.uses(midnightMs, Number.MAX_SAFE_INTEGER)) {
      const use = today.get(keyId) ?? NO_USE;
      today.set(keyId, { ...use, [what]: use[what] + count });
    }
    return today;
  }

  close(): void {
    this.#flush();
  }

  #add(note: AuditNote, nowMs: number): number {
    const id = this.#store.add(note, nowMs);
    this.#added += 1;
    if (this.#added % TRIM_EVERY === 0) this.#store.trim(nowMs);
    return id;
  }

  /**
   * Replaces the target with `OTHER_TARGETS` after the first ten targets of a minute, so that a loop cannot fill the
   * log.
   */
  #withFewTargets(note: AuditNote): AuditNote {
    const minute = Math.floor(this.#clock.now() / MINUTE_MS);
    if (minute !== this.#targetsOfMinute) this.#targets.clear();
    this.#targetsOfMinute = minute;
    const { keyId, action, outcome, target = null } = note;
    const group = `${keyId} ${action} ${outcome}`;
    const named = this.#targets.get(group) ?? new Set();
    this.#targets.set(group, named);
    if (!named.has(target) && named.size >= MAX_TARGETS) return { ...note, target: OTHER_TARGETS };
    named.add(target);
    return note;
  }

  /** Writes one line per key, action, outcome and target in each window. */
  #fold(note: AuditNote, windowMs: number): void {
    const nowMs = this.#clock.now();
    const key = `${note.keyId} ${note.action} ${note.outcome} ${note.target}`;
    const folded = this.#folded.get(key);
    if (folded !== undefined && nowMs < folded.untilMs && nowMs >= folded.untilMs - windowMs) {
      folded.more += 1;
      this.#changed.add(folded);
      this.#cancelFlush ??= this.#clock.after(FLUSH_MS, () => this.#flush());
      return;
    }
    if (this.#folded.size >= MAX_FOLDED) {
      this.#flush();
      this.#folded.clear();
    }
    const untilMs = (Math.floor(nowMs / windowMs) + 1) * windowMs;
    this.#folded.set(key, { id: this.#add(note, nowMs), untilMs, more: 0 });
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#changed.size === 0) return;
    this.#store.count([...this.#changed]);
    for (const folded of this.#changed) folded.more = 0;
    this.#changed.clear();
  }
}

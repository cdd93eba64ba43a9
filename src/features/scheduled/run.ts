import { errorCode, isAppError, problemCode } from '../../core/model/errors.ts';
import { mayHaveBeenSent, wasSentInPart } from '../../core/model/failed-send.ts';
import type { GuestBook } from '../../core/model/guests.ts';
import type { IdempotencyKey } from '../../core/model/idempotency-key.ts';
import type { MessageStatus } from '../../core/model/message.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { Cancel, Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { MessageSender, SendLookup, SendResult } from '../../core/model/ports/sending-ports.ts';
import type { SentPartStore } from '../../core/model/ports/sent-parts-ports.ts';
import { sendChoices } from '../../core/model/send-service.ts';
import type { KeptCopies } from '../../core/sender/kept-files.ts';
import type { ScheduledStore, StoredScheduled } from './ports.ts';
import type { ScheduledState } from './scheduled.ts';

/** Problem codes of a send that had not begun, after which a later attempt may succeed. */
const PASSING: ReadonlySet<string> = new Set([
  'messages_unavailable',
  'chat_db_unavailable',
  'send_queue_full',
  'cap_reached',
  'disk_full',
  'state_db_unavailable',
  'internal_error',
]);
const AGAIN_MS = 60_000;
/**
 * How long the row of a scheduled send is looked for: a little longer than `Confirmations` looks for rows (decision
 * I5).
 */
const FOLLOWED_MS = 11 * 60_000;
const FOLLOW_EVERY_MS = 2000;
/** How long Messages may take to send a row: failures were seen up to tens of seconds after it (imsg #110). */
const PENDING_MS = 60_000;

/** Thrown just before a send would begin, if it was cancelled or its `send_until` has passed while it waited. */
const NOT_BEGUN = new Error('it was cancelled, or its time passed, before its turn');

export interface RunParts {
  readonly store: ScheduledStore;
  readonly sender: Pick<MessageSender, 'send'>;
  readonly sentParts: Pick<SentPartStore, 'rowsOf'>;
  readonly lookup: Pick<SendLookup, 'message'>;
  readonly files: KeptCopies;
  /** Says whether the key of a due send still permits it (decision X1), and learns how it ended. */
  readonly guests: Pick<GuestBook, 'admitDue' | 'noteDeferred'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sends the messages whose time has come, and looks for their rows. */
export class ScheduledRun {
  readonly #parts: RunParts;
  /** The sends that could not begin. Key: the send's id. Value: the time of the next attempt and the problem's code. */
  readonly #later = new Map<string, { readonly atMs: number; readonly code: string }>();
  readonly #following = new Map<string, Cancel>();
  #isClosed = false;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#following.values()) cancel();
  }

  /** Looks for the rows of sends that an earlier process handed to Messages. */
  resume(): void {
    for (const entry of this.#parts.store.list({ states: ['sending'] })) this.#follow(entry);
  }

  /**
   * Returns the time at which the scheduler must run next, to send a message or to end a missed send. `dueMs` is the
   * earliest time at which a send is due. If no send is scheduled, `dueMs` and the result are undefined.
   */
  nextMs(dueMs: number | undefined): number | undefined {
    if (dueMs === undefined || dueMs > this.#parts.clock.now()) return dueMs;
    return Math.min(...this.#due().map(({ id, sendUntilMs }) => Math.min(this.#later.get(id)?.atMs ?? 0, sendUntilMs)));
  }

  /** Sends the due messages one after the other, in the order of their scheduled times. */
  async sendDue(): Promise<void> {
    const tried = new Set<string>();
    for (;;) {
      const next = this.#due().find(({ id }) => !tried.has(id));
      if (next === undefined || this.#isClosed) return;
      tried.add(next.id);
      await this.#send(next);
    }
  }

  #due(): readonly StoredScheduled[] {
    return this.#parts.store.due(this.#parts.clock.now());
  }

  async #send(entry: StoredScheduled): Promise<void> {
    const { store, clock, sender, files, guests } = this.#parts;
    const { id, key_id: keyId, to, text, attachments, requestId } = entry;
    const later = this.#later.get(id);
    if (this.#isMissed(entry)) {
      this.#end(entry, 'scheduled', 'missed', later?.code);
      return;
    }
    if (later !== undefined && later.atMs > clock.now()) return;
    let hasBegun = false;
    try {
      const check = guests.admitDue(entry);
      const result = await sender.send({
        recipient: to,
        body: text ?? '',
        attachments: await files.paths(id, attachments),
        areCopies: true,
        recordedAs: keyOf(entry),
        ...sendChoices(entry),
        ...(requestId !== null && { requestId }),
        ...(keyId !== OWNER && { keyId }),
        check: () => {
          check();
          if (hasBegun) return;
          if (this.#isMissed(entry) || !store.begin(id, clock.now())) throw NOT_BEGUN;
          hasBegun = true;
        },
      });
      this.#afterwards(entry, result);
    } catch (error) {
      this.#failed(entry, error, hasBegun);
    }
  }

  #isMissed({ sendUntilMs }: StoredScheduled): boolean {
    return this.#parts.clock.now() > sendUntilMs;
  }

  #afterwards(entry: StoredScheduled, { confirmed, message }: SendResult): void {
    // Every part was handed to Messages.
    if (!confirmed || message.status === 'pending') this.#follow(entry, 1);
    else this.#end(entry, 'sending', message.status === 'failed' ? 'failed' : 'sent', undefined, message.id);
  }

  #failed(entry: StoredScheduled, error: unknown, hasBegun: boolean): void {
    if (error === NOT_BEGUN) return;
    const code = problemCode(error);
    if (!isAppError(error)) this.#parts.log.error('a scheduled send failed', { id: entry.id, error });
    const failed = isAppError(error) ? error : { code };
    // The row of a message that was sent in part, or to the wrong conversation, does not mean that it was sent.
    if (hasBegun && wasSentInPart(failed)) this.#end(entry, 'sending', 'unknown', code);
    // Messages may have sent the message, so its row may still appear.
    else if (hasBegun && mayHaveBeenSent(failed)) this.#follow(entry);
    else if (hasBegun || code !== 'shutting_down') {
      if (PASSING.has(code) && (!hasBegun || this.#isPutBack(entry))) {
        this.#later.set(entry.id, { atMs: this.#parts.clock.now() + AGAIN_MS, code });
      } else this.#end(entry, hasBegun ? 'sending' : 'scheduled', 'failed', code);
    }
  }

  #isPutBack({ id }: StoredScheduled): boolean {
    try {
      return this.#parts.store.putBack(id);
    } catch (error) {
      this.#parts.log.error('could not store that a scheduled send must be tried again', { id, error });
      return false;
    }
  }

  /**
   * Looks for the rows of a send that was handed to Messages, until it is sent or failed, or pending for `PENDING_MS`.
   * If fewer than `parts` of its parts have a row within `FOLLOWED_MS`, the send ends in the state `unknown`. By
   * default all must have one, because the send may have ended between two parts.
   */
  #follow(entry: StoredScheduled, parts = partsOf(entry)): void {
    const { clock, sentParts, lookup, log } = this.#parts;
    const found = (): { readonly rowId?: number; readonly status?: MessageStatus | undefined } => {
      try {
        const rows = sentParts.rowsOf(keyOf(entry));
        const rowId = rows.length < parts ? undefined : rows.at(-1);
        return rowId === undefined ? {} : { rowId, status: lookup.message(rowId)?.status };
      } catch (error) {
        log.error('could not look for the row of a scheduled send', { id: entry.id, code: errorCode(error) });
        return {};
      }
    };
    const endMs = clock.monotonic() + FOLLOWED_MS;
    let foundAtMs: number | undefined;
    const look = (): void => {
      if (this.#isClosed) return;
      const { rowId, status } = found();
      if (rowId !== undefined) foundAtMs ??= clock.monotonic();
      const isOpen = status === 'pending' && clock.monotonic() < (foundAtMs ?? 0) + PENDING_MS;
      if (rowId !== undefined && !isOpen) {
        this.#end(entry, 'sending', status === 'failed' ? 'failed' : 'sent', undefined, String(rowId));
      } else if (rowId === undefined && clock.monotonic() >= endMs) {
        this.#end(entry, 'sending', 'unknown', 'send_outcome_unknown');
      } else this.#following.set(entry.id, clock.after(FOLLOW_EVERY_MS, look));
    };
    look();
  }

  #end(
    entry: StoredScheduled,
    from: 'scheduled' | 'sending',
    state: ScheduledState,
    code?: string,
    messageId?: string,
  ): void {
    const { store, clock, files, log, guests } = this.#parts;
    this.#later.delete(entry.id);
    this.#following.delete(entry.id);
    try {
      if (!store.end(entry.id, from, state, { atMs: clock.now(), messageId, problem: code })) return;
    } catch (error) {
      // The send keeps its stored state. A send that is stored as `sending` is never sent again.
      log.error('could not store the outcome of a scheduled send', { id: entry.id, error });
      return;
    }
    void files.remove(entry.id);
    if (state !== 'sent') log.warn('a scheduled send was not confirmed as sent', { id: entry.id, state, code });
    guests.noteDeferred(entry, code ?? state);
  }
}

/** Returns the number of parts in which a send is handed to Messages (decision D1). */
function partsOf({ text, attachments }: StoredScheduled): number {
  return (text ? 1 : 0) + attachments.length;
}

function keyOf({ id }: StoredScheduled): IdempotencyKey {
  return { kind: 'scheduled', key: id };
}

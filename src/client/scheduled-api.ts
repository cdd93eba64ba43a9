import type { HeldSend, ScheduledAnswer, ScheduleOptions } from './options.ts';
import { parsed } from './postern-error.ts';
import { queryOf, type Requests } from './request.ts';
import type { ScheduledSend, ScheduledSource, ScheduledState } from './scheduled-types.ts';

/** Manages messages that are sent at a set time. */
export class ScheduledApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Schedules a message. Until a day after `send_until`, a request with the same `idempotencyKey` schedules nothing and
   * returns the existing entry. With a limited key the message can be held: the answer is then `{ approval }`.
   */
  async add({ idempotencyKey, ...message }: ScheduleOptions): Promise<ScheduledAnswer | HeldSend> {
    const options = { body: { body: '', ...message }, idempotencyKey };
    const { text, header } = await this.#requests.request('POST', 'messages', options);
    const isReplayed = header('idempotent-replayed') === 'true';
    return { ...(parsed(text) as ScheduledAnswer | HeldSend), ...(isReplayed && { replayed: true }) };
  }

  /**
   * Lists the messages that are waiting or being sent, soonest first. With `state`, which may also be a final state,
   * lists the messages in that state instead.
   */
  list(filter: { readonly state?: ScheduledState; readonly source?: ScheduledSource } = {}): Promise<ScheduledSend[]> {
    return this.#requests.list(`scheduled${queryOf(filter)}`, 'send_at');
  }

  get(id: string): Promise<ScheduledSend> {
    return this.#requests.one('GET', `scheduled/${encodeURIComponent(id)}`, 'send_at');
  }

  /**
   * Cancels a message. Once this resolves, the message is certain not to be sent. Rejects with the code `too_late` if
   * the message was already handed to Messages or its state is final.
   */
  cancel(id: string): Promise<void> {
    return this.#requests.none('DELETE', `scheduled/${encodeURIComponent(id)}`);
  }
}

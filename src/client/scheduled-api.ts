import type { ScheduledSend, ScheduledSource, ScheduledState } from '../domain/scheduled.ts';
import type { HeldSend, ScheduledAnswer, ScheduleOptions } from './options.ts';
import { parsed } from './postern-error.ts';
import { queryOf, type Requests } from './request.ts';

/** Messages that wait for their time. */
export class ScheduledApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Sends at a time. The same `idempotencyKey` gives the same entry, until a day after its time. With a limited key it
   * may be held: then the answer is `{ approval }`.
   */
  async add({ idempotencyKey, ...message }: ScheduleOptions): Promise<ScheduledAnswer | HeldSend> {
    const options = { body: { body: '', ...message }, idempotencyKey };
    const { text, header } = await this.#requests.request('POST', 'messages', options);
    const isReplayed = header('idempotent-replayed') === 'true';
    return { ...(parsed(text) as ScheduledAnswer | HeldSend), ...(isReplayed && { replayed: true }) };
  }

  /** Those that wait or are being sent, soonest first; with `state` also those that ended. */
  list(filter: { readonly state?: ScheduledState; readonly source?: ScheduledSource } = {}): Promise<ScheduledSend[]> {
    return this.#requests.list(`scheduled${queryOf(filter)}`, 'send_at');
  }

  get(id: string): Promise<ScheduledSend> {
    return this.#requests.one('GET', `scheduled/${encodeURIComponent(id)}`, 'send_at');
  }

  /** Certain when it resolves. Rejects with the code `too_late` when it was handed to Messages, or is over. */
  cancel(id: string): Promise<void> {
    return this.#requests.none('DELETE', `scheduled/${encodeURIComponent(id)}`);
  }
}

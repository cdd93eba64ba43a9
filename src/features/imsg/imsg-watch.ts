import { type Event, isPosternError, type PosternClient, type PosternError } from '../../client/postern-client.ts';
import { imsgReaction } from './imsg-message.ts';
import { type ImsgMethods, windowFilter } from './imsg-methods.ts';
import type { ImsgParams } from './imsg-request.ts';
import { RPC, RpcError, readError } from './rpc-error.ts';

/** The most event streams that a key may have open. One more would be refused, which ends the program. */
const MAX_SUBSCRIPTIONS = 16;
/**
 * After chat.db was replaced, rows that took more than this many seconds to arrive are skipped: they are history, not
 * news.
 */
const NEWS_S = 24 * 60 * 60;

export interface ImsgWatchParts {
  readonly client: PosternClient;
  readonly methods: ImsgMethods;
  readonly notify: (method: string, params: unknown) => Promise<void>;
  readonly warn: (sentence: string) => void;
  /**
   * Called when the service does not answer, with the reason. Must end this program: imsg's clients cannot wait, but
   * they start the program again and resume.
   */
  readonly onAway: (reason: string) => void;
}

/** Runs the subscriptions of one client. Each follows the service's log and passes events on immediately. */
export class ImsgWatch {
  readonly #parts: ImsgWatchParts;
  readonly #running = new Map<number, { readonly stop: AbortController; readonly ended: Promise<void> }>();
  #last = 0;

  constructor(parts: ImsgWatchParts) {
    this.#parts = parts;
  }

  /**
   * Prepares a subscription, which starts when the caller has written the answer and calls `begin`. Never resolves if
   * the service does not answer: `onAway` then ends the program.
   */
  async subscribe(params: ImsgParams<'watch.subscribe'>) {
    const start = await this.#startOf(params);
    const chatId =
      params.chat_id === undefined
        ? undefined
        : (await this.#parts.methods.chats.withNumber(params.chat_id)).conversation.id;
    // Not before the requests above, because several subscriptions may begin at once.
    if (this.#running.size >= MAX_SUBSCRIPTIONS) throw new RpcError(RPC.busy, 'Server busy: too many subscriptions.');
    this.#last += 1;
    const number = this.#last;
    const stop = new AbortController();
    let begin = (): void => {};
    const answered = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const ended = answered
      .then(() => this.#follow(number, { ...start, chatId, params, signal: stop.signal }))
      .finally(() => this.#running.delete(number));
    this.#running.set(number, { stop, ended });
    return { result: { subscription: number, buffer_limit: params.buffer_limit ?? params.bufferLimit ?? 256 }, begin };
  }

  /** Resolves once no notification of the subscription can follow. */
  async unsubscribe({ subscription }: ImsgParams<'watch.unsubscribe'>) {
    const running = this.#running.get(subscription);
    running?.stop.abort();
    await running?.ended;
    return { ok: true };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((subscription) => this.unsubscribe({ subscription })));
  }

  /**
   * Returns the row after which a subscription starts. First requests one event after that row: if the service refuses
   * that, the answer to `watch.subscribe` already says so.
   */
  async #startOf({ since_rowid: since = 0 }: ImsgParams<'watch.subscribe'>): Promise<Start> {
    const { client, warn } = this.#parts;
    try {
      const { newest_event: newest, macs } = await client.status();
      if (macs !== undefined) throw new RpcError(RPC.internal, 'This is a hub of many Macs: use a service on a Mac.');
      const after = since === 0 ? newest.row_id : Math.max(since, 0);
      await client.events(after, 1);
      return { after };
    } catch (error) {
      if (!isPosternError(error)) throw error;
      if (error.status === 410) {
        warn(`Row ${since} is not in chat.db, which was probably replaced: starting with messages of the last day.`);
        return { after: 0, maxAgeS: NEWS_S };
      }
      if (isAway(error)) return this.#away(error.message);
      throw readError(error);
    }
  }

  async #follow(subscription: number, { after, maxAgeS, chatId, params, signal }: Followed): Promise<void> {
    const { client, methods, notify } = this.#parts;
    const isWanted = windowFilter(params);
    try {
      const events = client.listen({
        after,
        maxAgeS,
        junk: false,
        over: 'http',
        include: ['details'],
        signal,
        onReconnect: (reason) => this.#parts.onAway(reason),
      });
      for await (const event of events) {
        const { data } = event;
        const isOther = chatId !== undefined && data.conversation_id !== chatId;
        if (isOther || !isWanted(data)) continue;
        const message = await this.#written(event, params, methods);
        if (message !== undefined && !signal.aborted) await notify('message', { subscription, message });
      }
    } catch (error) {
      if (!isPosternError(error)) throw error;
      if (!isAway(error)) await notify('error', { subscription, error: { message: error.message } });
      this.#parts.onAway(error.message);
    }
  }

  /**
   * Returns the message of a notification. Returns undefined if the client does not want the event, or if the
   * conversation of the event is gone.
   */
  async #written(event: Event, params: ImsgParams<'watch.subscribe'>, methods: ImsgMethods): Promise<unknown> {
    const isMessage = event.type === 'message.received' || event.type === 'message.sent';
    if (!isMessage && params.include_reactions !== true) return undefined;
    const chat = await methods.chats.withId(event.data.conversation_id).catch((error: unknown) => {
      if (isPosternError(error) && error.status === 404) return undefined;
      throw error;
    });
    if (chat === undefined) return undefined;
    const { data, type } = event;
    if ('reaction_type' in data) return imsgReaction(data, chat, type === 'reaction.added');
    return methods.written(data, chat, params);
  }

  #away(reason: string): Promise<never> {
    this.#parts.onAway(reason);
    return new Promise(() => {});
  }
}

interface Start {
  readonly after: number;
  readonly maxAgeS?: number;
}

interface Followed extends Start {
  readonly chatId: string | undefined;
  readonly params: ImsgParams<'watch.subscribe'>;
  readonly signal: AbortSignal;
}

/** Reports whether the failure may be temporary: the service or its database is unavailable. */
function isAway({ status, code }: PosternError): boolean {
  return status === 0 || status === 429 || status >= 500 || code === 'not_postern';
}

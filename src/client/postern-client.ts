import type { Conversation } from '../core/model/conversation.ts';
import type { Event } from '../core/model/event.ts';
import type { Message } from '../core/model/message.ts';
import type { Clock } from '../core/model/ports/host-ports.ts';
import type { BackendHealth } from '../core/model/ports/reading-ports.ts';
import type { DryRun } from '../core/model/ports/sending-ports.ts';
import type { PermissionsAnswer, StatusReport } from '../core/model/status.ts';
import type { DeliveryRecord, Webhook, WebhookStatus, WebhookTestResult } from '../core/model/webhook.ts';
import { pause, systemClock } from '../core/runtime/clock.ts';
import { ApprovalsApi, KeysApi } from './access-api.ts';
import { AttachmentsApi } from './attachments-api.ts';
import type { Diagnostics } from './diagnostics-types.ts';
import { eventLines } from './event-lines.ts';
import { eventSocket, type SocketEvent, webSocketPackage } from './event-socket.ts';
import { HomeApi } from './home-api.ts';
import type {
  ClientOptions,
  ConversationPage,
  DeliveryFilter,
  EventPage,
  HeldSend,
  Included,
  ListenOptions,
  MessageFilter,
  NewWebhookOptions,
  SendOptions,
  SentMessage,
  TrackedEvent,
  TrackedOptions,
  TrackedPage,
  WebhookEdits,
} from './options.ts';
import { PeopleApi } from './people-api.ts';
import type { Contact } from './people-types.ts';
import { isPosternError, notPostern, PosternError, resumeOf } from './postern-error.ts';
import { DEFAULT_TIMEOUT_MS, isFinal, isOffset, queryOf, RECONNECT_MS, Requests, STEADY_MS } from './request.ts';
import { ScheduledApi } from './scheduled-api.ts';
import { type SearchFilter, type SearchResults, searchResults } from './search-results.ts';
import type { SearchHit } from './search-types.ts';
import { sentMessage } from './sent-message.ts';
import { fetchTransport, socketTransport } from './transport.ts';

export { isPosternError, PosternError } from './postern-error.ts';
export type * from './types.ts';

const DEFAULT_URL = 'http://127.0.0.1:3001';

/** Returns the URL of the API below a service's URL. Its path stays, such as that of a Mac at a hub or of a proxy. */
function apiOf(url: string): URL {
  const { origin, pathname } = new URL(url);
  return new URL(`${origin}${pathname.replace(/\/?(?:api\/v1\/?)?$/, '')}/api/v1/`);
}

/** A typed client of the documented API. Every method that fails throws a PosternError. */
export class PosternClient {
  readonly #base: URL;
  readonly #socketPath: string | undefined;
  readonly #address: string;
  readonly #requests: Requests;
  readonly #key: string;
  readonly #clock: Clock;

  constructor({ url, socketPath, key, timeoutMs = DEFAULT_TIMEOUT_MS, clock = systemClock }: ClientOptions) {
    if (!/^[^\p{Cc}]+$/u.test(key)) {
      throw new PosternError(0, { code: 'invalid_key', detail: 'The key is empty or contains a control character.' });
    }
    if (url !== undefined && socketPath !== undefined) throw new TypeError('Give `url` or `socketPath`, not both.');
    this.#base = apiOf(socketPath === undefined ? (url ?? DEFAULT_URL) : 'http://localhost');
    this.#socketPath = socketPath;
    this.#address = socketPath ?? this.#base.href.replace(/\/api\/v1\/$/, '');
    const transport = socketPath === undefined ? fetchTransport : socketTransport(socketPath);
    this.#requests = new Requests({ base: this.#base, address: this.#address, transport, timeoutMs, key });
    this.#key = key;
    this.#clock = clock;
  }

  /** The data of the owner's home page, the counts over time, and the settings in use. */
  get home(): HomeApi {
    return new HomeApi(this.#requests);
  }

  /** Limited keys, the audit log, and signing a browser in. */
  get keys(): KeysApi {
    return new KeysApi(this.#requests);
  }

  get approvals(): ApprovalsApi {
    return new ApprovalsApi(this.#requests);
  }

  get people(): PeopleApi {
    return new PeopleApi(this.#requests);
  }

  get scheduled(): ScheduledApi {
    return new ScheduledApi(this.#requests);
  }

  /** Uploads files to send, and downloads the attachments of messages. */
  get attachments(): AttachmentsApi {
    return new AttachmentsApi({
      address: this.#address,
      pages: (path, member) => this.#requests.pages(path, member),
      request: (method, path, { headers, body: bytes }) => this.#requests.answer(method, path, { headers, bytes }),
    });
  }

  health(): Promise<{ readonly status: 'ok'; readonly backend: BackendHealth }> {
    return this.#requests.one('GET', 'health', 'backend');
  }

  conversations(page: ConversationPage = {}): Promise<Conversation[]> {
    return this.#requests.list(`conversations${queryOf(page)}`, 'participants');
  }

  /** Yields every conversation once, page after page. */
  allConversations(options: Pick<ConversationPage, 'include' | 'junk' | 'q'> = {}): AsyncGenerator<Conversation, void> {
    return this.#requests.pages(`conversations${queryOf({ limit: 200, cursor: '', ...options })}`, 'participants');
  }

  conversation(id: string, included: Included = {}): Promise<Conversation> {
    return this.#requests.one('GET', `conversations/${encodeURIComponent(id)}${queryOf(included)}`, 'participants');
  }

  /** Returns people in the Address Book that match each word of `q`. */
  contacts(filter: { readonly q?: string; readonly limit?: number } = {}): Promise<Contact[]> {
    return this.#requests.list(`contacts${queryOf(filter)}`, 'addresses');
  }

  messages(filter: MessageFilter = {}): Promise<Message[]> {
    return this.#requests.list(`messages${queryOf(filter)}`, 'guid');
  }

  message(id: string, included: Included = {}): Promise<Message> {
    return this.#requests.one('GET', `messages/${encodeURIComponent(id)}${queryOf(included)}`, 'guid');
  }

  /** Yields every matching message, page after page. Deep pages are as fast as the first. */
  allMessages(filter: MessageFilter = {}): AsyncGenerator<Message, void> {
    return this.#requests.pages(`messages${queryOf({ limit: 200, ...filter })}`, 'guid');
  }

  /** Returns one page of hits, newest first. A page's `cursor` leads to the next one. */
  async search(q: string, filter: SearchFilter = {}): Promise<SearchResults> {
    const page = await this.#requests.request('GET', `search${queryOf({ q, ...filter })}`);
    return searchResults(this.#requests.listed<SearchHit>(page, 'highlights'), page);
  }

  /**
   * Sends a message. A second send with the same `idempotencyKey` sends nothing and returns the first answer, marked
   * `replayed`. The message's `id` is "" if its row was not seen in time. A send with a limited key can be held: the
   * result is then a HeldSend, and `approvals.get` returns the outcome.
   */
  async send({ idempotencyKey, ...message }: SendOptions): Promise<SentMessage | HeldSend> {
    const body = { body: '', ...message };
    return sentMessage(await this.#requests.request('POST', 'messages', { body, idempotencyKey }), this.#address);
  }

  /** Returns what `send` would do, without sending anything. */
  dryRun({ idempotencyKey: _idempotencyKey, ...message }: SendOptions): Promise<DryRun> {
    return this.#requests.one('POST', 'messages', 'would', { body: '', ...message, dry_run: true });
  }

  /** Lists the webhooks. With `include: 'status'`, each webhook has its state, and passwords in URLs are masked. */
  webhooks(included: { readonly include?: 'status' } = {}): Promise<(Webhook & Partial<WebhookStatus>)[]> {
    return this.#requests.list(`webhooks${queryOf(included)}`, 'url');
  }

  webhook(id: string): Promise<Webhook & WebhookStatus> {
    return this.#requests.one('GET', `webhooks/${encodeURIComponent(id)}`, 'url');
  }

  addWebhook(webhook: NewWebhookOptions): Promise<Webhook> {
    return this.#requests.one('POST', 'webhooks', 'url', webhook);
  }

  /** Changes some settings of a webhook. Keeps its other settings, its position and its history of deliveries. */
  changeWebhook(id: string, changes: WebhookEdits): Promise<Webhook & WebhookStatus> {
    return this.#requests.one('PATCH', `webhooks/${encodeURIComponent(id)}`, 'url', changes);
  }

  async removeWebhook(id: string): Promise<void> {
    await this.#requests.request('DELETE', `webhooks/${encodeURIComponent(id)}`);
  }

  deliveries(id: string, filter: DeliveryFilter = {}): Promise<DeliveryRecord[]> {
    return this.#requests.list(`webhooks/${encodeURIComponent(id)}/deliveries${queryOf(filter)}`, 'outcome');
  }

  /** Sends the event of a finished delivery once more, with the same delivery id. */
  resendDelivery(id: string, delivery: string): Promise<WebhookTestResult> {
    const path = `webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(delivery)}`;
    return this.#requests.one('POST', `${path}/resend`, 'delivered');
  }

  testWebhook(id: string): Promise<WebhookTestResult> {
    return this.#requests.one('POST', `webhooks/${encodeURIComponent(id)}/test`, 'delivered');
  }

  /** Attempts the webhook's held delivery now instead of at its next retry. */
  retryWebhook(id: string): Promise<Webhook & WebhookStatus> {
    return this.#requests.one('POST', `webhooks/${encodeURIComponent(id)}/retry`, 'url');
  }

  /** Redelivers events after a row id or offset, with the same delivery ids. `latest` skips undelivered events. */
  replayWebhook(id: string, after: number | string): Promise<Webhook & WebhookStatus> {
    const from = isOffset(after) || after === 'latest' ? after : Number(after);
    return this.#requests.one('POST', `webhooks/${encodeURIComponent(id)}/replay`, 'url', { after: from });
  }

  /** Redelivers the events that the webhook has dropped. Delivery then continues with the next event. */
  replayDropped(id: string): Promise<Webhook & WebhookStatus> {
    return this.#requests.one('POST', `webhooks/${encodeURIComponent(id)}/replay`, 'url', { dropped: true });
  }

  /**
   * Returns at most `limit` (≤ 1000) events after a row id or offset, oldest first. Waits up to `wait` s for one. If
   * the offset no longer holds, follows the `resume` of the answer: events may then come again, with the same ids.
   */
  events(after: number | string, limit = 100, { maxAgeS, ...page }: EventPage = {}): Promise<Event[]> {
    return this.#resuming(after, (from) =>
      this.#requests.list(`events${queryOf({ after: from, limit, ...page, max_age_s: maxAgeS })}`, 'data'),
    );
  }

  /**
   * Returns events and changes after a row id or an offset: oldest first, at most `limit` (up to 1000). Without
   * `after`, returns no events and the current offset. If the offset no longer holds, follows the `resume` of the
   * answer. Without one, throws 410: start again from `problem.latest`.
   */
  async trackedEvents({ after, maxAgeS, ...page }: TrackedOptions = {}): Promise<TrackedPage> {
    const answer = await this.#resuming(after, (from) => {
      const query = queryOf({ changes: true, after: from, ...page, max_age_s: maxAgeS });
      return this.#requests.request('GET', `events${query}`);
    });
    const offset = new URL(answer.next ?? '', this.#base).searchParams.get('after');
    if (offset === null) throw notPostern(answer.status, this.#address);
    return { events: this.#requests.listed<TrackedEvent>(answer, 'data'), offset };
  }

  status(): Promise<StatusReport> {
    return this.#requests.one('GET', 'status', 'newest_event');
  }

  /** Makes the service check its permissions. macOS may prompt the user. */
  checkPermissions(): Promise<PermissionsAnswer> {
    return this.#requests.one('POST', 'permissions/check', 'permissions');
  }

  /** Watches chat.db for `seconds`. With `ask`, also asks Messages for its chats; macOS may then prompt the user. */
  diagnostics(options: { readonly seconds: number; readonly ask?: 'messages' }): Promise<Diagnostics> {
    return this.#requests.one('POST', `diagnostics${queryOf(options)}`, 'own_addresses');
  }

  /**
   * Yields events as they happen, over a WebSocket or plain HTTP. When the connection breaks, reconnects and resumes
   * after the last event taken, without a gap or a repeat, even if the service was down. Ends when `signal` is aborted.
   * If the position no longer holds, follows the `resume` of the answer: events may then come again, with the same ids.
   * Throws if the service refuses permanently: the key is wrong (401), or the position has expired (410).
   */
  listen(options: ListenOptions & { readonly changes: true }): AsyncGenerator<TrackedEvent, void>;
  listen(options?: ListenOptions & { readonly changes?: false }): AsyncGenerator<Event, void>;
  async *listen(options: ListenOptions = {}): AsyncGenerator<Event | TrackedEvent, void> {
    const { changes = false, signal, onReconnect } = options;
    const isAborted = (): boolean => signal?.aborted ?? false;
    let last = options.after;
    let attempt = 0;
    while (!isAborted()) {
      let reason = 'The connection was closed.';
      let leastMs = 0;
      const sinceMs = this.#clock.monotonic();
      try {
        // Gets an offset before connecting, so that nothing is missed even if the first connection breaks.
        if (changes && !isOffset(last)) {
          const page = await this.trackedEvents({ ...options, after: last, limit: 1 });
          last = page.offset;
          yield* page.events;
        }
        if (last === undefined) {
          const { newest_event: newest } = await this.status();
          last = newest.offset ?? newest.row_id;
        }
        for await (const event of this.#line({ ...options, after: last })) {
          last = 'offset' in event ? event.offset : (event.data as { readonly id: string }).id;
          yield event;
        }
      } catch (error) {
        const resume = resumeOf(error);
        if (resume !== undefined) last = resume;
        else if (!isPosternError(error) || isFinal(error)) throw error;
        const { message, retryAfterMs = 0 } = error as PosternError;
        reason = message;
        leastMs = retryAfterMs;
      }
      if (isAborted()) return;
      if (this.#clock.monotonic() - sinceMs >= STEADY_MS) attempt = 0;
      const waitMs = Math.max(leastMs, RECONNECT_MS[Math.min(attempt, RECONNECT_MS.length - 1)] ?? 0);
      attempt += 1;
      onReconnect?.(reason, waitMs);
      await pause(this.#clock, waitMs, signal);
    }
  }

  /** Asks for what follows `after`; if it no longer holds, once more from where the service says. */
  async #resuming<After, Answer>(after: After, ask: (from: After | string) => Promise<Answer>): Promise<Answer> {
    try {
      return await ask(after);
    } catch (error) {
      const resume = resumeOf(error);
      if (resume === undefined) throw error;
      return ask(resume);
    }
  }

  /** Opens one connection and yields its events. */
  async *#line({
    changes,
    maxAgeS,
    over,
    signal,
    onReconnect: _onReconnect,
    ...parameters
  }: ListenOptions): AsyncGenerator<SocketEvent> {
    const isHttp = over === 'http' || (over === undefined && (await webSocketPackage()) === undefined);
    const query = queryOf({ ...parameters, changes: changes || undefined, max_age_s: maxAgeS });
    const url = new URL(`${isHttp ? 'events' : 'ws'}${query}`, this.#base);
    const to = { url, socketPath: this.#socketPath, address: this.#address };
    if (isHttp) return yield* eventLines(to, this.#key, this.#clock, signal);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.searchParams.set('api_key', this.#key);
    return yield* eventSocket(to, this.#clock, signal);
  }
}

import { randomUUID } from 'node:crypto';
import {
  type Adapter,
  type AdapterPostableMessage,
  BaseFormatConverter,
  type ChatInstance,
  type FetchOptions,
  type FetchResult,
  type FormattedContent,
  Message,
  NotImplementedError,
  parseMarkdown,
  type RawMessage,
  type ThreadInfo,
  toPlainText,
  type WebhookOptions,
} from 'chat';
import { type HeldSend, type PosternMessage, PosternService } from './service.js';
import { isSigned } from './signature.js';

export type { HeldSend, PosternMessage } from './service.js';

type Raw = PosternMessage | HeldSend;

export interface PosternAdapterOptions {
  /** The address of Postern, such as `http://127.0.0.1:3001`. */
  readonly url: string;
  /** A limited key: `postern keys add`. */
  readonly key: string;
  /** Signs what Postern posts to the bot; any long random text. */
  readonly webhookSecret?: string;
  /** Takes the place of the signature, where a proxy has checked it. */
  readonly webhookVerifier?: (request: Request, body: string) => unknown;
  readonly userName?: string;
}

const PREFIX = 'postern:';
const WEBHOOK_NAME = 'Chat SDK';

/** Messages shows no formatting. */
class PlainText extends BaseFormatConverter {
  fromAst(ast: FormattedContent): string {
    return toPlainText(ast);
  }

  toAst(text: string): FormattedContent {
    return parseMarkdown(text);
  }
}

/** Apple Messages as a platform of Chat SDK. */
export class PosternAdapter implements Adapter<string, Raw> {
  readonly name = 'postern';
  readonly userName: string;
  /** Messages has no threads: a conversation is handled one message at a time. */
  readonly lockScope = 'channel';
  readonly #options: PosternAdapterOptions;
  readonly #service: PosternService;
  readonly #format = new PlainText();
  #chat: ChatInstance | undefined;

  constructor(options: PosternAdapterOptions) {
    if (options.webhookSecret === undefined && options.webhookVerifier === undefined) {
      throw new Error('PosternAdapter needs a webhookSecret: without it anybody could write in the name of others.');
    }
    this.#options = options;
    this.#service = new PosternService(options.url, options.key);
    this.userName = options.userName ?? 'postern';
  }

  async initialize(chat: ChatInstance): Promise<void> {
    this.#chat = chat;
  }

  /** Has Postern post new messages to an address of this bot, until `removeWebhook`. A repeat changes nothing. */
  async registerWebhook(url: string): Promise<void> {
    const known = await this.#webhooks();
    if (known.some((one) => one.url === url)) return;
    const secret = this.#options.webhookSecret;
    const body = { url, events: ['message.received'], name: WEBHOOK_NAME, on_failure: 'hold' };
    await this.#service.ask('/webhooks', { method: 'POST', body: { ...body, ...(secret && { secret }) } });
  }

  async removeWebhook(url: string): Promise<void> {
    for (const { id } of (await this.#webhooks()).filter((one) => one.url === url)) {
      await this.#service.ask(`/webhooks/${id}`, { method: 'DELETE' });
    }
  }

  /** Ids of conversations hold semicolons and colons, which ids of threads may not. */
  encodeThreadId(conversationId: string): string {
    return PREFIX + Buffer.from(conversationId).toString('base64url');
  }

  decodeThreadId(threadId: string): string {
    if (!threadId.startsWith(PREFIX)) throw new Error('This is no thread of Postern.');
    return Buffer.from(threadId.slice(PREFIX.length), 'base64url').toString('utf8');
  }

  channelIdFromThreadId(threadId: string): string {
    return threadId;
  }

  isDM(threadId: string): boolean {
    return this.decodeThreadId(threadId).includes(';-;');
  }

  /** Takes an address, or the id of a conversation. */
  async openDM(address: string): Promise<string> {
    return this.encodeThreadId(address.includes(';') ? address : `any;-;${address}`);
  }

  parseMessage(raw: Raw): Message<Raw> {
    if ('approval' in raw) throw new NotImplementedError('A held send is no message yet.', 'parseMessage');
    const { id, sender, is_from_me: isMe, timestamp } = raw;
    // U+FFFC stands for an attachment.
    const text = (raw.body ?? '').replaceAll('\ufffc', '').trim();
    return new Message<Raw>({
      ...{ id, raw, text, threadId: this.encodeThreadId(raw.conversation_id) },
      formatted: { type: 'root', children: [{ type: 'paragraph', children: [{ type: 'text', value: text }] }] },
      author: { userId: sender, userName: sender, fullName: sender, isBot: false, isMe },
      metadata: { dateSent: new Date(timestamp), edited: false },
      attachments: raw.attachments.map((path, at) => ({
        type: 'file',
        name: path.slice(path.lastIndexOf('/') + 1),
        fetchMetadata: { message: id, index: String(at) },
      })),
    });
  }

  renderFormatted(content: FormattedContent): string {
    return toPlainText(content);
  }

  async handleWebhook(request: Request, options?: WebhookOptions): Promise<Response> {
    const body = await request.text();
    if (!(await this.#isGenuine(request, body)))
      return new Response('The signature is missing or wrong.', { status: 401 });
    const event = JSON.parse(body) as { readonly type?: string; readonly data?: PosternMessage };
    if (event.type === 'message.received' && event.data !== undefined) {
      const message = this.parseMessage(event.data);
      void this.#chat?.processMessage(this, message.threadId, message, options);
    }
    return new Response('ok');
  }

  async postMessage(threadId: string, message: AdapterPostableMessage): Promise<RawMessage<Raw>> {
    const answer = await this.#service.ask<PosternMessage | HeldSend>('/messages', {
      method: 'POST',
      headers: { 'Idempotency-Key': randomUUID() },
      body: { recipient: this.decodeThreadId(threadId), body: this.#format.renderPostable(message) },
    });
    const id = 'approval' in answer ? `held:${answer.approval.id}` : answer.id;
    return { id, threadId, raw: answer };
  }

  async fetchMessages(threadId: string, { limit = 50 }: FetchOptions = {}): Promise<FetchResult<Raw>> {
    const query = new URLSearchParams({ conversation_id: this.decodeThreadId(threadId), limit: String(limit) });
    const newest = await this.#service.ask<readonly PosternMessage[]>(`/messages?${query.toString()}`);
    return { messages: newest.map((one) => this.parseMessage(one)).reverse() };
  }

  async fetchThread(threadId: string): Promise<ThreadInfo> {
    const id = encodeURIComponent(this.decodeThreadId(threadId));
    const { display_name: name } = await this.#service.ask<{ display_name: string | null }>(`/conversations/${id}`);
    const isDM = this.isDM(threadId);
    return { id: threadId, channelId: threadId, isDM, metadata: {}, ...(name && { channelName: name }) };
  }

  async startTyping(): Promise<void> {}

  async addReaction(): Promise<void> {
    throw this.#impossible('addReaction');
  }

  async removeReaction(): Promise<void> {
    throw this.#impossible('removeReaction');
  }

  async editMessage(): Promise<RawMessage<Raw>> {
    throw this.#impossible('editMessage');
  }

  async deleteMessage(): Promise<void> {
    throw this.#impossible('deleteMessage');
  }

  #impossible(feature: string): NotImplementedError {
    return new NotImplementedError('Messages lets no other program do this.', feature);
  }

  #webhooks(): Promise<readonly { readonly id: string; readonly url: string }[]> {
    return this.#service.ask('/webhooks');
  }

  async #isGenuine(request: Request, body: string): Promise<boolean> {
    const { webhookVerifier, webhookSecret = '' } = this.#options;
    if (webhookVerifier === undefined) return isSigned(request.headers, body, webhookSecret, Date.now());
    try {
      return Boolean(await webhookVerifier(request, body));
    } catch {
      return false;
    }
  }
}

/** Apple Messages for `adapters` of a `Chat`. */
export function createPosternAdapter(options: PosternAdapterOptions): PosternAdapter {
  return new PosternAdapter(options);
}

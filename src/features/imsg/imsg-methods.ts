import { randomUUID } from 'node:crypto';
import type { Message, PosternClient, SendOptions } from '../../client/postern-client.ts';
import { upload } from '../../core/cli/files.ts';
import { Refusal } from '../../core/cli/service-connection.ts';
import { normalAddress } from '../../core/model/address.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { type ImsgChat, ImsgChats } from './imsg-chats.ts';
import type { ImsgFiles } from './imsg-files.ts';
import { imsgChat, imsgMessage } from './imsg-message.ts';
import type { ImsgParams } from './imsg-request.ts';
import { notStarted, RPC, RpcError, readError, sendError } from './rpc-error.ts';

const DEFAULT_CHATS = 20;
const DEFAULT_MESSAGES = 50;
const MAX_MESSAGES = 1000;
/** Maximum number of messages that `messages.history` examines to find those that match its filter. */
const MAX_LOOKED_AT = 5000;

/** The methods of imsg's JSON-RPC that work without its private bridge. */
export const RPC_METHODS = [
  'initialize',
  'status',
  'chats.list',
  'messages.history',
  'watch.subscribe',
  'watch.unsubscribe',
  'send',
] as const;

const NO_BRIDGE = 'Postern does not inject code into Messages.';
/** OpenClaw recognises these words and sends again without the reply. */
const NO_REPLY = `reply_to requires bridge transport. ${NO_BRIDGE}`;

/** The answer of `postern imsg status`. Clients read it before they choose methods. */
export const IMSG_STATUS = {
  advanced_features: false,
  v2_ready: false,
  selectors: {},
  rpc_methods: RPC_METHODS,
  message: NO_BRIDGE,
} as const;

export interface ImsgMethodsParts {
  readonly client: PosternClient;
  /** Returns the URL of a page of the console. If the service has no URL, returns the command that opens the page. */
  readonly consoleAt: (path: string) => string;
  readonly files: ImsgFiles;
  readonly clock: Clock;
  readonly version: string;
}

/** Implements imsg's methods with requests to the Postern service. */
export class ImsgMethods {
  readonly chats: ImsgChats;
  readonly #parts: ImsgMethodsParts;

  constructor(parts: ImsgMethodsParts) {
    this.#parts = parts;
    this.chats = new ImsgChats(parts.client, parts.clock);
  }

  async status() {
    const { client, version } = this.#parts;
    const health = await client.health().catch((error: unknown) => {
      throw readError(error);
    });
    const { connected, message } = health.backend;
    return {
      version,
      protocol_version: 1,
      database: { ready: connected, ...(message !== null && { error: message }) },
      bridge: { ready: false, error: NO_BRIDGE },
      contacts: { available: false },
      methods: RPC_METHODS,
      supported_methods: RPC_METHODS,
      capabilities: { engine: { version }, features: {} },
    };
  }

  async listChats({ limit = DEFAULT_CHATS, unread_only, unreadOnly }: ImsgParams<'chats.list'>) {
    return { chats: (await this.chats.list(limit, unread_only ?? unreadOnly ?? false)).map(imsgChat) };
  }

  /** Returns a chat's messages, newest first. Examines at most `MAX_LOOKED_AT` messages. */
  async history(params: ImsgParams<'messages.history'>) {
    const { chat_id: number, limit = DEFAULT_MESSAGES, start } = params;
    const chat = await this.chats.withNumber(number);
    const isWanted = windowFilter(params);
    const found: Message[] = [];
    let looked = 0;
    const all = this.#parts.client.allMessages({
      conversation_id: chat.conversation.id,
      limit: Math.min(limit, 200),
      include: ['details'],
      junk: false,
      // Starts 1 ms earlier: the service excludes the start instant, and the protocol includes it.
      ...(start !== undefined && { since: new Date(Date.parse(start) - 1).toISOString() }),
    });
    for await (const message of all) {
      if (isWanted(message)) found.push(message);
      looked += 1;
      if (found.length >= Math.min(limit, MAX_MESSAGES) || looked >= MAX_LOOKED_AT) break;
    }
    const messages = [];
    for (const message of found) messages.push(await this.written(message, chat, params));
    return { messages };
  }

  /** Returns the message in imsg's form, with the message's files if the client requested them. */
  async written(message: Message, chat: ImsgChat, asked: FilesAsked): Promise<ReturnType<typeof imsgMessage>> {
    const areWanted = asked.attachments === true && (message.details?.attachments.length ?? 0) > 0;
    const files = areWanted ? await this.#parts.files.of(message, asked.convert_attachments === true) : [];
    return imsgMessage(message, chat, files);
  }

  async send(params: ImsgParams<'send'>) {
    const { reply_to, replyTo, reply_to_guid, message_guid, transport } = params;
    if ([reply_to, replyTo, reply_to_guid, message_guid].some((guid) => typeof guid === 'string' && guid !== '')) {
      throw new RpcError(RPC.invalidParams, NO_REPLY);
    }
    if (transport === 'bridge') throw new RpcError(RPC.invalidParams, `It requires bridge transport. ${NO_BRIDGE}`);
    try {
      return await this.#send(await this.#sendOptions(params));
    } catch (error) {
      throw error instanceof Refusal ? notStarted(error.lines.join(' '), false) : sendError(error);
    }
  }

  async #send(options: SendOptions) {
    const { client, consoleAt } = this.#parts;
    // Uses a new idempotency key for each request, so that two equal texts are two messages.
    const answer = await client.send({ ...options, idempotencyKey: randomUUID() });
    if ('approval' in answer) {
      const url = consoleAt(answer.console ?? '/console#/approvals');
      throw notStarted(
        `This message is held for approval: it is sent once the owner of Postern approves it (${url}). Do not send it again.`,
        false,
      );
    }
    // An empty id means that Messages accepted the send, but its row did not appear in chat.db in time.
    if (answer.id === '') return { ok: true, transport: 'applescript', chat_guid: answer.conversation_id };
    const service = answer.details?.service_used ?? answer.details?.service;
    return {
      ok: true,
      transport: 'applescript',
      id: Number(answer.id),
      guid: answer.guid,
      chat_guid: answer.conversation_id,
      ...(typeof service === 'string' && { service }),
    };
  }

  async #sendOptions(params: ImsgParams<'send'>): Promise<SendOptions> {
    const { to, chat_id: number, chat_guid: guid, chat_identifier: identifier, text = '', file = '', service } = params;
    const targets = [to, number, guid, identifier].filter((target) => target !== undefined);
    if (targets.length !== 1) {
      throw new RpcError(RPC.invalidParams, 'Give exactly one of `to`, `chat_id`, `chat_guid` and `chat_identifier`.');
    }
    if (text === '' && file === '') throw new RpcError(RPC.invalidParams, 'Give `text`, `file`, or both.');
    const recipient =
      number === undefined ? (to ?? guid ?? identifier ?? '') : (await this.chats.withNumber(number)).conversation.id;
    const mayFallBack = (params.allow_sms_fallback ?? params.allowSMSFallback) === true && to !== undefined;
    return {
      recipient,
      body: text,
      ...(file !== '' && { attachment_ids: [(await upload(this.#parts.client, file)).id] }),
      ...(service !== undefined && service !== 'auto' && { service }),
      ...(mayFallBack && file === '' && service !== 'sms' && { fallback: 'sms' as const }),
    };
  }
}

interface FilesAsked {
  readonly attachments?: boolean | undefined;
  readonly convert_attachments?: boolean | undefined;
}

interface WindowAsked {
  readonly participants?: readonly string[] | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

/** Returns a filter by time (from `start`, before `end`) and by sender. Outgoing rows match any `participants`. */
export function windowFilter({ participants, start, end }: WindowAsked) {
  const people =
    participants === undefined || participants.length === 0 ? undefined : new Set(participants.map(normalAddress));
  const [startMs, endMs] = [Date.parse(start ?? ''), Date.parse(end ?? '')];
  return (row: { readonly sender: string; readonly is_from_me: boolean; readonly timestamp: string }): boolean => {
    const atMs = Date.parse(row.timestamp);
    // A row's time is in whole seconds, so the second that contains `start` is included.
    if (atMs + 999 < startMs || atMs >= endMs) return false;
    return people === undefined || row.is_from_me || people.has(normalAddress(row.sender));
  };
}

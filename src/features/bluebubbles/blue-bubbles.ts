import { chatIdentity, groupId, rightsAddress } from '../../core/model/address.ts';
import { type Access, assertAllowed, type Caller, isAllowed } from '../../core/model/caller.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import { isAppError } from '../../core/model/errors.ts';
import { mayHaveBeenSent } from '../../core/model/failed-send.ts';
import { includeSet } from '../../core/model/include.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import { invalidRequest, problem } from '../../core/model/problems.ts';
import { assertAnswerable } from '../../core/model/recipient.ts';
import type { StoredWebhook, WebhookEventType } from '../../core/model/webhook.ts';
import type { Counters } from '../../core/runtime/counters.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import { ConversationWalks } from './conversation-walks.ts';
import { unlisted } from './event-json.ts';
import { attachmentKey, chatObject, givenForm, messageObject } from './objects.ts';
import {
  blueBubblesChats,
  blueBubblesFile,
  blueBubblesNewChat,
  blueBubblesText,
  blueBubblesWebhook,
  privateMembers,
} from './requests.ts';
import { sendFor, type WireSendAnswer } from './sends.ts';
import type { Wire, WireAnswer, WireEndpoint, WireFailure, WireRequest } from './wire.ts';

const DETAILS = includeSet(['details']);
/** The limit of BlueBubbles itself, whose clients ask for up to as many. */
const MAX_CHATS = 1000;
const NEW: readonly WebhookEventType[] = ['message.received', 'message.sent'];
const NO_HELPER = 'This needs the private API, which Postern does not use.';
const NO_CHAT = 'Chat does not exist!';
const NO_KEY = 'The password is missing or wrong. It must be a limited key: create one with "postern keys add".';

type Handler = (request: WireRequest, id: string) => Promise<WireAnswer> | WireAnswer;

interface Endpoint {
  readonly method: string;
  /** Path of the endpoint. A segment `*` matches any id. */
  readonly path: string;
  readonly access: Access;
  readonly takesForm?: true;
  readonly run: Handler;
}

/** Answers BlueBubbles' REST v1, as far as Messages supports it without injected code (decision Y2). */
export class BlueBubbles implements Wire {
  readonly keyNames = ['password', 'guid', 'token'];
  readonly #version: string;
  readonly #counters: Counters;
  readonly #walks = new ConversationWalks();
  readonly #endpoints: readonly Endpoint[] = [
    { method: 'GET', path: 'ping', access: 'key', run: () => success('pong', 'Ping received!') },
    { method: 'GET', path: 'server/info', access: 'key', run: () => success(this.#info()) },
    {
      method: 'GET',
      path: 'webhook',
      access: ['webhooks'],
      run: ({ caller }) => success(own(caller).map(webhookObject)),
    },
    { method: 'POST', path: 'webhook', access: ['webhooks'], run: addWebhook },
    { method: 'DELETE', path: 'webhook/*', access: ['webhooks'], run: removeWebhook },
    { method: 'POST', path: 'chat/query', access: ['read'], run: (request) => this.#listChats(request) },
    { method: 'POST', path: 'chat/new', access: ['send'], run: (request) => this.#newChat(request) },
    { method: 'GET', path: 'chat/*', access: ['read'], run: getChat },
    { method: 'POST', path: 'message/text', access: ['send'], run: (request) => this.#sendText(request) },
    {
      method: 'POST',
      path: 'message/attachment',
      access: ['send'],
      takesForm: true,
      run: (request) => this.#sendFile(request),
    },
    { method: 'GET', path: 'attachment/*/download', access: ['read'], run: download },
    ...['POST chat/*/typing', 'DELETE chat/*/typing', 'POST chat/*/read', 'POST chat/*/unread', 'PUT chat/*'].map(
      withoutHelper,
    ),
    ...['POST message/react', 'POST message/*/edit', 'POST message/*/unsend', 'POST message/multipart'].map(
      withoutHelper,
    ),
  ];

  constructor({ version, counters }: { readonly version: string; readonly counters: Counters }) {
    this.#version = version;
    this.#counters = counters;
  }

  find({ method, path: segments, caller }: Pick<WireRequest, 'method' | 'path' | 'caller'>): WireEndpoint {
    const [api, version, ...path] = segments;
    const isApi = api === 'api' && version === 'v1';
    const endpoint = isApi ? this.#endpoints.find(matcher(method, path)) : undefined;
    if (endpoint === undefined) throw problem('not_found');
    assertAllowed(caller, endpoint.access);
    const id = path[endpoint.path.split('/').indexOf('*')] ?? '';
    return {
      takesForm: endpoint.takesForm === true,
      answer: async (request) => ({ ...(await endpoint.run(request, id)), route: `bluebubbles/${endpoint.path}` }),
    };
  }

  failure({ status, code, detail, hint, partsSent }: WireFailure): WireAnswer {
    const type = TYPES[code] ?? (status >= 500 ? 'Server Error' : 'Validation Error');
    const fileFate = mayHaveBeenSent({ code }) ? 'The text was sent.' : 'The text was sent, the file was not.';
    const sent = partsSent.length > 0 ? [fileFate] : [];
    const words = [...sent, ...(NO_CHATS.has(code) ? [NO_CHAT] : []), detail, ...(hint === undefined ? [] : [hint])];
    const message = code === 'unauthorized' ? NO_KEY : words.join(' ');
    return { status, body: { status, message: detail, error: { type, message } } };
  }

  #info() {
    return {
      os_version: null,
      server_version: this.#version,
      private_api: false,
      helper_connected: false,
      proxy_service: null,
      detected_icloud: null,
      detected_imessage: null,
      macos_time_sync: null,
      local_ipv4s: [],
      local_ipv6s: [],
    };
  }

  async #sendText(request: WireRequest): Promise<WireAnswer> {
    const { chatGuid, message, tempGuid } = readBody(blueBubblesText, request.body);
    const needed = privateMembers(request.body);
    if (needed.length > 0) return refused(needsHelper(needed));
    const answer = await sendFor(request, { recipient: chatGuid, text: message, tempGuid }, this.#counters);
    return sendAnswer(answer, 'Message sent!', tempGuid);
  }

  async #sendFile(request: WireRequest): Promise<WireAnswer> {
    const { chatGuid, tempGuid, name, ...texts } = readBody(blueBubblesFile, request.body);
    const [file, ...others] = request.files;
    if (file === undefined || others.length > 0) {
      throw invalidRequest([{ pointer: '/attachment', message: 'The form must have one file, named attachment.' }]);
    }
    const needed = privateMembers(request.body);
    if (needed.length > 0) return refused(needsHelper(needed));
    // Clients repeat the caption in all three fields, because they do not know which one the server reads.
    const [caption = '', ...more] = new Set(Object.values(texts).filter((text) => typeof text === 'string' && text));
    if (more.length > 0) {
      const message = 'Of `caption`, `message` and `text`, only one can be sent with the file.';
      throw invalidRequest([{ pointer: '/caption', message }]);
    }
    const named = name?.trim() ? await request.caller.uploads.rename(file.id, name) : file;
    const send = { recipient: chatGuid, text: caption ?? '', tempGuid };
    const answer = await sendFor({ ...request, files: [named] }, send, this.#counters);
    return sendAnswer(answer, 'Attachment sent!', tempGuid);
  }

  /**
   * Creates a conversation by sending its first message to an address. Without text, only returns the conversation, or
   * an id by which the first message can be sent.
   */
  async #newChat(request: WireRequest): Promise<WireAnswer> {
    const { addresses, message, tempGuid } = readBody(blueBubblesNewChat, request.body);
    const [address = '', ...others] = addresses;
    if (others.length > 0) return refused('Groups cannot be created without the private API.', 'Chat Create Error');
    const needed = privateMembers(request.body);
    if (needed.length > 0) return refused(needsHelper(needed), 'Chat Create Error');
    if (typeof message === 'string' && message !== '') {
      const answer = await sendFor(request, { recipient: address, text: message, tempGuid }, this.#counters);
      if ('refused' in answer) return refused(answer.refused, 'Chat Create Error');
      const { sent } = answer;
      // A message whose row was not found yet does not name its conversation.
      const isFound = sent.conversation_id !== '';
      const chat = chatObject(
        isFound ? { ...unlisted(sent), participants: [address] } : await chatWith(request.caller, address),
      );
      const messages = [messageObject(sent, unlisted(sent), tempGuid)];
      return success({ ...chat, messages }, 'Successfully created chat!');
    }
    if (request.caller.canSend?.(address) === 'no') {
      assertAnswerable(address);
      throw problem('recipient_not_allowed');
    }
    return success(chatObject(await chatWith(request.caller, address)));
  }

  async #listChats({ caller, body }: WireRequest): Promise<WireAnswer> {
    const asked = readBody(blueBubblesChats, body ?? {});
    const limit = Math.min(Math.max(asked.limit ?? MAX_CHATS, 1), MAX_CHATS);
    const offset = asked.offset ?? 0;
    const { items, total, isContinued } = await this.#walks.page(caller, offset, limit);
    const metadata = { count: items.length, total, offset, limit };
    const answer = { status: 200, message: 'Success', data: items.map(chatObject), metadata };
    return { status: 200, body: answer, isUncounted: isContinued };
  }
}

const TYPES: Readonly<Record<string, string>> = lookupTable({
  unauthorized: 'Authentication Error',
  send_failed: 'iMessage Error',
  messages_unavailable: 'iMessage Error',
});

/** The problems that BlueBubbles calls a missing chat. */
const NO_CHATS: ReadonlySet<string> = new Set(['unknown_conversation', 'conversation_not_found']);

function success(data: unknown, message = 'Success'): WireAnswer {
  return { status: 200, body: { status: 200, message, data } };
}

/** Returns the answer to a request that Messages cannot carry out, or that first needs an approval. */
function refused(reason: string, title = 'Message Send Error'): WireAnswer {
  return { status: 500, body: { status: 500, message: title, error: { type: 'iMessage Error', message: reason } } };
}

function sendAnswer(answer: WireSendAnswer, message: string, tempGuid: string | null): WireAnswer {
  if ('refused' in answer) return refused(answer.refused);
  const { sent } = answer;
  return success(messageObject(sent, unlisted(sent), tempGuid), message);
}

function needsHelper(members: readonly string[]): string {
  const names = members.map((name) => `\`${name}\``).join(', ');
  return `Nothing was sent: ${names} needs the private API, which Postern does not use.`;
}

function withoutHelper(line: string): Endpoint {
  const [method = '', path = ''] = line.split(' ');
  return { method, path, access: 'key', run: () => refused(NO_HELPER) };
}

function matcher(method: string, path: readonly string[]) {
  return (endpoint: Endpoint): boolean => {
    const wanted = endpoint.path.split('/');
    const isPath = wanted.length === path.length && wanted.every((part, at) => part === '*' || part === path[at]);
    return isPath && endpoint.method === method;
  };
}

/** Returns the webhooks that the key has created with the protocol of BlueBubbles. */
function own({ webhooks }: WireRequest['caller']): readonly StoredWebhook[] {
  return webhooks.list().filter(({ wire }) => wire?.protocol === 'bluebubbles');
}

function webhookObject({ id, url, wire, created_at: createdAt }: StoredWebhook) {
  return { id, url, events: wire?.events ?? [], created: createdAt };
}

/**
 * Adds a webhook, or changes the one with the same URL: a client registers it at each start, and then gets each message
 * once, and those that waited for it.
 */
async function addWebhook({ caller, body }: WireRequest): Promise<WireAnswer> {
  const { url, events } = readBody(blueBubblesWebhook, body);
  const [first, ...doubles] = own(caller).filter((webhook) => webhook.url === url);
  const wire = { protocol: 'bluebubbles', events };
  const save = async (types: readonly WebhookEventType[]): Promise<StoredWebhook> => {
    try {
      if (first !== undefined) return await caller.webhooks.change(first.id, { events: types, wire });
      return await caller.webhooks.add({ url, events: types, on_failure: 'hold', wire });
    } catch (error) {
      // A client does without changes if the owner switched them off.
      if (types !== NEW && isAppError(error) && error.code === 'changes_disabled') return save(NEW);
      throw error;
    }
  };
  const wantsUpdates = events.includes('updated-message') || events.includes('*');
  const saved = await save(wantsUpdates ? [...NEW, 'message.updated'] : NEW);
  for (const { id } of doubles) await caller.webhooks.remove(id);
  return success(webhookObject(saved), 'Successfully created webhook!');
}

async function removeWebhook({ caller }: WireRequest, id: string): Promise<WireAnswer> {
  const isOwn = own(caller).some((webhook) => webhook.id === id);
  if (!isOwn || !(await caller.webhooks.remove(id))) throw problem('webhook_not_found');
  return success(null, 'Successfully deleted webhook!');
}

/**
 * Returns the conversation with an address, as far as the key may read it. Otherwise returns an id that a send accepts:
 * Messages decides the stored one when the first message creates the conversation.
 */
async function chatWith(caller: Caller, address: string): Promise<Conversation> {
  const typed = chatIdentity(address)?.identifier ?? address;
  const person = rightsAddress(typed) ?? typed;
  const id = groupId(person) ?? `any;-;${person}`;
  const found = isAllowed(caller, ['read']) ? await caller.reader.conversation(id, { include: DETAILS }) : undefined;
  return found ?? { id, display_name: null, participants: [person], last_message_at: '' };
}

async function getChat({ caller }: WireRequest, guid: string): Promise<WireAnswer> {
  const chat: Conversation | undefined = await caller.reader.conversation(guid, { include: DETAILS });
  if (chat === undefined) throw problem('conversation_not_found');
  return success(chatObject(chat));
}

async function download({ caller }: WireRequest, guid: string): Promise<WireAnswer> {
  const key = attachmentKey(guid);
  const message = key && (await caller.reader.message(key.id, { include: DETAILS }));
  const attachment = message?.details?.attachments.find(({ n }, at) => (n ?? at) === key?.n);
  const file =
    key === undefined || attachment === undefined
      ? undefined
      : await caller.attachments.open(key.id, key.n, givenForm(attachment));
  if (file === undefined) throw problem('attachment_not_found');
  return { status: 200, file };
}

import {
  type McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import type { Caller } from '../../core/model/caller.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import { conversationIdentity } from '../../core/model/event-filter.ts';
import { decodedPart } from '../../core/model/parsed-url.ts';
import { withoutHiddenChats, withoutJunk } from '../../core/model/without-junk.ts';
import { listed } from '../../core/tools/fence.ts';
import type { ToolContext } from '../../core/tools/tool.ts';
import { shortLine } from '../../core/tools/visible.ts';
import { Labels } from './text/labels.ts';
import { isGroupId } from './tools/group-names.ts';
import { countNote } from './tools/junk.ts';
import { messageLines } from './tools/messages-read.ts';

const PREFIX = 'postern://conversations/';
const TEMPLATE = `${PREFIX}{id}`;
const MAX_LISTED = 20;
/** Number of conversations among which the list looks for those that Messages shows. */
const LOOKED_AT = 100;
const MESSAGES = 20;
/** Maximum number of events that one `take` reads from the feed. */
const BATCH_SIZE = 200;

function uriOf(id: string): string {
  return `${PREFIX}${encodeURIComponent(id)}`;
}

/** Adds the resource `postern://conversations/{id}`: the newest messages of a conversation. */
export function addConversationResource(server: McpServer, context: ToolContext): void {
  const { reader } = context.caller;
  const recent = async (): Promise<readonly Conversation[]> => {
    const { items } = await reader.listConversations({ limit: LOOKED_AT, offset: 0 });
    return withoutHiddenChats(items, context.caller).slice(0, MAX_LISTED);
  };
  const template = new ResourceTemplate(TEMPLATE, {
    list: async () => {
      const labels = new Labels(await context.names());
      const resources = (await recent()).map((one) => ({ uri: uriOf(one.id), name: nameOf(one, labels) }));
      return { resources };
    },
    complete: {
      id: async (value) => (await recent()).map(({ id }) => id).filter((id) => id.includes(value)),
    },
  });
  const about = {
    title: 'Conversation',
    description: `The newest ${MESSAGES} messages of a conversation.`,
    mimeType: 'text/plain',
  };
  server.registerResource('conversation', template, about, async (uri, { id }) => {
    const conversation = await reader.conversation(decodedPart(String(id)) ?? String(id));
    if (conversation === undefined) throw new ResourceNotFoundError(uri.href);
    const query = { conversationId: conversation.id, order: 'desc', limit: MESSAGES, offset: 0 } as const;
    const { items } = await reader.listMessages(query);
    const shown = withoutJunk(items, (message) => message, context.caller);
    const lines = await messageLines(shown.toReversed(), conversation.id, context);
    const leftOut = items.length - shown.length;
    const note = leftOut === 0 ? undefined : `Left out as junk: ${leftOut}; messages_read with junk=true shows them.`;
    const text = listed([countNote(shown.length, 'message'), note], lines, context.nonce);
    return { contents: [{ uri: uri.href, mimeType: 'text/plain', text }] };
  });
}

function nameOf({ id, display_name: name, participants }: Conversation, labels: Labels): string {
  if (isGroupId(id) && name !== null) return `"${shortLine(name, 60).replaceAll('"', "'")}"`;
  return participants.map((address) => labels.person(address)).join(', ') || shortLine(id);
}

/** The conversations to which a request subscribes: from their keys to the URIs as the client wrote them. */
export type Subscribed = ReadonlyMap<string, string>;

export function subscribedTo(body: unknown): Subscribed {
  const { params } = (body ?? {}) as {
    readonly params?: { readonly notifications?: { readonly resourceSubscriptions?: unknown } | null } | null;
  };
  const uris = params?.notifications?.resourceSubscriptions;
  const ours = Array.isArray(uris) ? uris.map(String).filter((uri) => uri.startsWith(PREFIX)) : [];
  const idIn = (uri: string): string => decodedPart(uri.slice(PREFIX.length)) ?? uri.slice(PREFIX.length);
  return new Map(ours.map((uri) => [conversationIdentity(idIn(uri)), uri]));
}

/** Returns a bus that tells a key's subscriptions which conversations have new events, by the URIs of the clients. */
export function conversationEvents(caller: Caller, subscribed: () => readonly Subscribed[]): ServerEventBus {
  return {
    publish() {},
    subscribe(listener) {
      const reader = caller.feed.live(() => {
        for (;;) {
          const { entries } = reader.take(BATCH_SIZE);
          const ids = entries.flatMap(({ event: { data }, marks }) =>
            'conversation_id' in data ? [data.conversation_id, ...(marks?.otherIds ?? [])] : [],
          );
          const keys = new Set(ids.map(conversationIdentity));
          const uris = new Set(subscribed().flatMap((one) => [...keys].flatMap((key) => one.get(key) ?? [])));
          for (const uri of uris) listener({ kind: 'resource_updated', uri });
          if (reader.isCaughtUp()) break;
        }
      });
      return () => reader.close();
    },
  };
}

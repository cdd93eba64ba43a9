import type { SearchHit } from '../../src/client/types.ts';
import type { ChatNames } from '../../src/core/model/ports/chat-names-ports.ts';
import type { Page } from '../../src/core/model/ports/reading-ports.ts';
import { consoleFeature } from '../../src/features/console/feature.ts';
import { consolePages } from '../../src/features/console/pages.ts';
import { contacts } from '../../src/features/contacts/feature.ts';
import { noContacts } from '../../src/features/contacts/no-contacts.ts';
import { CONTACTS } from '../../src/features/contacts/port.ts';
import { mcpCalls } from '../../src/features/mcp/calls.ts';
import { mcp } from '../../src/features/mcp/feature.ts';
import { MCP } from '../../src/features/mcp/port.ts';
import type { McpService } from '../../src/features/mcp/ports.ts';
import { type CallersSubscriptions, SUBSCRIPTIONS } from '../../src/features/mcp/subscriptions-port.ts';
import { search } from '../../src/features/search/feature.ts';
import { SEARCH } from '../../src/features/search/port.ts';
import type { CallerSearch, SearchPage } from '../../src/features/search/ports.ts';
import type { SearchQuery, SearchStatus } from '../../src/features/search/types.ts';
import { CONVERSATION, type GatewayOptions, HttpGateway, MESSAGE } from './http-gateway.ts';

const NO_MCP: McpService = {
  answer: () => {
    throw new Error('not used');
  },
  close: () => Promise.resolve(),
};
const CHAT_NAMES: ChatNames = {
  conversations: (text) => (CONVERSATION.id.endsWith(text) ? [CONVERSATION.id] : []),
  named: () => [],
  isAddress: () => false,
};

/** An index that finds `hits` and records its queries. */
export class MemorySearch implements CallerSearch {
  chats: ChatNames = CHAT_NAMES;
  readonly asked: (SearchQuery & SearchPage)[] = [];
  hits: readonly SearchHit[] = [{ message: MESSAGE, highlights: [[0, 5]] }];
  next: string | undefined;
  state: SearchStatus = { isEnabled: true, isComplete: true, indexedRows: 7, totalRows: 7 };
  failure: Error | undefined;

  status(): SearchStatus {
    return this.state;
  }

  async search(query: SearchQuery, page: SearchPage): Promise<Page<SearchHit>> {
    if (this.failure !== undefined) throw this.failure;
    this.asked.push({ ...query, ...page });
    return this.next === undefined ? { items: this.hits } : { items: this.hits, next: this.next };
  }
}

type Options = GatewayOptions & {
  readonly mcp?: { readonly mcp: McpService; readonly settings: { readonly allowOwnerKey: boolean } };
};

/** The same server with names, search, MCP and the console. */
export class FeatureGateway extends HttpGateway {
  readonly search: MemorySearch;

  private constructor(index: MemorySearch, { mcp: given, provide, ...options }: Options) {
    super({
      features: [contacts, search, mcp, consoleFeature],
      pages: [consolePages()],
      naming: noContacts,
      provide(ports) {
        ports.provide(CONTACTS, noContacts);
        ports.provide(SEARCH, index);
        ports.provide(MCP, mcpCalls(given?.mcp ?? NO_MCP, given?.settings ?? { allowOwnerKey: false }));
        const none: CallersSubscriptions = { own: undefined, ofKey: () => none };
        ports.provide(SUBSCRIPTIONS, none);
        provide?.(ports);
      },
      ...options,
    });
    this.search = index;
  }

  static override async start(options: Options = {}, host = '127.0.0.1'): Promise<FeatureGateway> {
    return new FeatureGateway(new MemorySearch(), options).listen(host);
  }
}

import type { Caller } from '../../domain/caller.ts';
import type { KeyRecord } from '../../domain/key.ts';
import type { Message } from '../../domain/message.ts';
import type { Clock, Log } from '../../domain/ports/host.ts';
import type { McpService } from '../../domain/ports/mcp.ts';
import { problem } from '../../domain/problems.ts';
import type { EventErrorNumbers } from '../../domain/subscription.ts';
import type { Counters } from '../../runtime/counters.ts';

export interface McpParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly counters: Counters;
  /** The numbers of MCP Events' errors (decision Y3). */
  readonly eventErrors: EventErrorNumbers;
  /** The record of the calling limited key. */
  readonly ownKey: (caller: Caller) => Promise<KeyRecord>;
  /** Name of the zone for displayed times, such as `Europe/Berlin`. */
  readonly timeZone: () => string;
  /** Ids of those messages that macOS filed as junk (decision V5). */
  readonly junkAmong: (messages: readonly Pick<Message, 'id'>[]) => ReadonlySet<string>;
}

/** Loads the protocol with its first request: a service that nobody uses over MCP stays as small as before. */
export function lazyMcpService(parts: McpParts): McpService {
  let service: Promise<McpService> | undefined;
  let isClosed = false;
  return {
    async answer(request) {
      if (isClosed) throw problem('shutting_down');
      service ??= import('./endpoint.ts').then(({ McpEndpoint }) => new McpEndpoint(parts));
      return (await service).answer(request);
    },
    async close() {
      isClosed = true;
      await (await service)?.close();
    },
  };
}

import type { Caller } from '../../domain/caller.ts';
import type { KeyRecord } from '../../domain/key.ts';
import type { Message } from '../../domain/message.ts';
import type { Clock, Log } from '../../domain/ports/host.ts';
import type { McpAnswer, McpRequest, McpService } from '../../domain/ports/mcp.ts';
import { problem } from '../../domain/problems.ts';
import type { Counters } from '../../runtime/counters.ts';

export interface McpParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly counters: Counters;
  /** The record of the calling limited key. */
  readonly ownKey: (caller: Caller) => Promise<KeyRecord>;
  /** Name of the zone for displayed times, such as `Europe/Berlin`. */
  readonly timeZone: () => string;
  /** Ids of those messages that macOS filed as junk (decision V5). */
  readonly junkAmong: (messages: readonly Pick<Message, 'id'>[]) => ReadonlySet<string>;
}

/** Loads the protocol with its first request: a service that nobody uses over MCP stays as small as before. */
export class LazyMcpService implements McpService {
  readonly #parts: McpParts;
  #service: Promise<McpService> | undefined;
  #isClosed = false;

  constructor(parts: McpParts) {
    this.#parts = parts;
  }

  async answer(request: McpRequest): Promise<McpAnswer> {
    if (this.#isClosed) throw problem('shutting_down');
    this.#service ??= import('./endpoint.ts').then(({ McpEndpoint }) => new McpEndpoint(this.#parts));
    return (await this.#service).answer(request);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#service)?.close();
  }
}

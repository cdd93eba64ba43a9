import type { Feature } from '../../core/feature.ts';
import type { CommandWords } from '../../core/model/command-words.ts';
import type { Clock, Log } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { Counters } from '../../core/runtime/counters.ts';
import type { McpService } from './ports.ts';

export interface McpParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** How a person runs a command with this service, for the owner's problems. */
  readonly cli?: CommandWords | undefined;
  /** The features whose tools the server offers. */
  readonly features: readonly Pick<Feature, 'tools'>[];
  readonly counters: Counters;
  /** Returns the name of the time zone in which answers show times, such as `Europe/Berlin`. */
  readonly timeZone: () => string;
}

/** Loads the protocol at its first request, so that a service without MCP clients uses less memory. */
export function lazyMcpService(parts: McpParts): McpService {
  let service: Promise<McpService> | undefined;
  let isClosed = false;
  return {
    async answer(request) {
      if (isClosed) throw problem('shutting_down');
      service ??= import('./endpoint.ts').then(async ({ McpEndpoint }) => {
        const tools = await Promise.all(parts.features.flatMap((one) => one.tools?.() ?? []));
        return new McpEndpoint(parts, tools.flat());
      });
      return (await service).answer(request);
    },
    async close() {
      isClosed = true;
      await (await service)?.close();
    },
  };
}

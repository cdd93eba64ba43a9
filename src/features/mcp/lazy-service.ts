import { problem } from '../../core/model/problems.ts';
import type { McpService } from './ports.ts';
import type { McpParts } from './server-parts.ts';

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

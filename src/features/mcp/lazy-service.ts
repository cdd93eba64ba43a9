import { problem } from '../../core/model/problems.ts';
import { madeOnce } from '../../core/runtime/made-once.ts';
import type { McpService } from './ports.ts';
import type { McpParts } from './server-parts.ts';

/** Loads the protocol at its first request, so that a service without MCP clients uses less memory. */
export function lazyMcpService(parts: McpParts): McpService {
  const endpoint = madeOnce(async () => {
    const { McpEndpoint } = await import('./endpoint.ts');
    const tools = await Promise.all(parts.features.flatMap((one) => one.tools?.() ?? []));
    return new McpEndpoint(parts, tools.flat());
  });
  let isClosed = false;
  return {
    async answer(request) {
      if (isClosed) throw problem('shutting_down');
      return (await endpoint()).answer(request);
    },
    async close() {
      isClosed = true;
      await (await endpoint.ifMade())?.close();
    },
  };
}

import type { Answer } from '../../core/http/answer.ts';
import type { Exchange } from '../../core/http/exchange.ts';
import type { Port } from '../../core/model/port.ts';

export interface McpCalls {
  /**
   * Answers a request of the Model Context Protocol, with the tools that the caller of `exchange` may use. Throws
   * `owner_key_at_mcp` if it is the owner and the owner's key is not accepted.
   */
  call(exchange: Exchange): Promise<Answer>;
}

/** A limited key gets all of it, because each call sees only what its caller may use. */
export const MCP: Port<McpCalls> = { name: 'MCP', narrow: (calls) => calls };

import type { Handler } from '../../core/http/router.ts';
import { MCP } from './port.ts';

/** The handler of the Model Context Protocol (decision M1). */
export const HANDLERS = {
  callMcp: (exchange) => exchange.caller.port(MCP).call(exchange),
} satisfies Readonly<Record<string, Handler>>;

import type { Handler } from '../../core/http/router.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import { MCP } from './port.ts';

/** The handler of the Model Context Protocol (decision M1). */
export const HANDLERS: Readonly<Record<string, Handler>> = lookupTable({
  callMcp: (exchange) => exchange.caller.port(MCP).call(exchange),
});

import * as z from 'zod';
import type { ResourceDocument } from '../../core/http/resource.ts';

/** MCP in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    callMcp: {
      tag: 'Agents',
      summary: 'One message of the Model Context Protocol',
      description:
        'Streamable HTTP of both generations, 2026-07-28 and 2025-11-25, without sessions. For MCP clients: see docs/mcp.md. ' +
        'Errors of the protocol are JSON-RPC errors; tools that the key may not use do not exist for it. ' +
        'For an array (a batch), the answer is 400 with the JSON-RPC error -32600.',
      body: {
        schema: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
        example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      },
      answers: {
        200: {
          description: 'The answer, or a stream of messages that ends with it.',
          type: 'application/json, text/event-stream',
        },
        202: { description: 'A notification was accepted.' },
      },
      problems: ['owner_key_at_mcp', 'too_many_answers', 'shutting_down'],
    },
  },
};

import { expect, test } from '@jest/globals';
import type { Exchange } from '../../src/core/http/exchange.ts';
import type { Caller } from '../../src/core/model/caller.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Counters } from '../../src/core/runtime/counters.ts';
import { noContacts } from '../../src/features/contacts/no-contacts.ts';
import { mcpCalls } from '../../src/features/mcp/calls.ts';
import { lazyMcpService } from '../../src/features/mcp/lazy-service.ts';
import { ANY_KEY } from '../support/any-key.ts';
import { MemorySearch } from '../support/feature-gateway.ts';
import { collectingLog } from '../support/log.ts';
import { LIST_TOOLS, MCP_HEADERS } from '../support/mcp-gateway.ts';

test.each([false, true])('a stop waits for no answer that could not be sent, aborted: %s', async (isAborted) => {
  const gone = new AbortController();
  const parts = { clock: systemClock, log: collectingLog(), counters: new Counters(), features: [] };
  const mcp = lazyMcpService({ ...parts, version: '1', timeZone: () => 'UTC' });
  const asked = { ...MCP_HEADERS, accept: 'text/event-stream' };
  const port = ({ name }: { readonly name: string }) => (name === 'search' ? new MemorySearch() : noContacts);
  const exchange = {
    caller: { key: ANY_KEY, port, reader: {}, webhooks: {} } as unknown as Caller,
    signal: gone.signal,
    id: 'one',
    request: { headers: asked },
    header: (name: keyof typeof asked) => asked[name],
    json: () => Promise.resolve(LIST_TOOLS),
    whenOver: (): void => {},
  } as unknown as Exchange;
  const answer = await mcpCalls(mcp, { allowOwnerKey: true }).call(exchange);
  expect(answer).toMatchObject({ status: 200, stream: expect.anything() });
  if (isAborted) gone.abort();
  await answer.stream?.close();
  await mcp.close();
});

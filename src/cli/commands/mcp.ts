import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { type ClientContext, EXIT } from '../context.ts';
import { McpPipe } from '../mcp-pipe.ts';
import { type ConnectionOptions, limitedDestinationOf, reportRefusal } from '../service-connection.ts';

/** `postern mcp`: serves MCP over stdin and stdout, for programs that start their own servers. */
export function mcp(options: ConnectionOptions, context: ClientContext): Promise<number> {
  return reportRefusal(options, context, async () => {
    const to = limitedDestinationOf(options, context);
    const writes = new Set<Promise<void>>();
    const write = (line: string): void => {
      const written = context.writeLine(line).finally(() => writes.delete(written));
      writes.add(written);
    };
    const pipe = new McpPipe(to, write, (sentence) => context.stderr(sentence));
    const ended = context.untilEnded();
    const lines = createInterface({ input: Readable.from(context.input()), terminal: false });
    ended.addEventListener('abort', () => lines.close());
    for await (const line of lines) pipe.pass(line);
    if (ended.aborted) pipe.close();
    await pipe.idle();
    await Promise.all(writes);
    return EXIT.ok;
  });
}

import type { ClientContext } from '../../../core/cli/client-context.ts';
import type { ConnectionOptions } from '../../../core/cli/context.ts';
import { jsonLine, oneLine } from '../../../core/cli/output/text.ts';
import { limitedDestinationOf, reportRefusal } from '../../../core/cli/service-connection.ts';
import { boundedLines } from '../../../core/runtime/bounded-lines.ts';
import { McpPipe } from './mcp-pipe.ts';

/** Many times the largest body that the service takes. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

export interface McpOptions extends ConnectionOptions {
  /** True to pass incoming messages on to Claude Code. */
  readonly channel?: boolean;
  /** With `channel`: passes on only messages after this row id or offset. */
  readonly since?: string;
}

/** `postern mcp`: serves MCP over stdin and stdout, for programs that start their own servers. */
export function mcpCommand(options: McpOptions, context: ClientContext): Promise<number> {
  return reportRefusal(options, context, async () => {
    const to = limitedDestinationOf(options, context);
    const writes = new Set<Promise<void>>();
    const write = (line: string): void => {
      const written = context.writeLine(jsonLine(line)).finally(() => writes.delete(written));
      writes.add(written);
    };
    const warn = (sentence: string): void => context.stderr(oneLine(sentence));
    const ended = context.untilEnded();
    const stop = new AbortController();
    const channel = options.channel === true ? await openChannel() : undefined;
    const pipe = new McpPipe(to, (line) => write(channel?.fromService(line) ?? line), warn);
    const isEnded = new Promise<undefined>((resolve) => {
      ended.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    // Not readline: since Node 24 it ends a line at U+2028 too, which JSON may contain.
    const lines = boundedLines(context.input(), MAX_LINE_BYTES);
    for (let next = await Promise.race([lines.next(), isEnded]); next?.done === false; ) {
      const { value: line } = next;
      pipe.pass(line === undefined ? undefined : (channel?.fromClient(line) ?? line));
      next = await Promise.race([lines.next(), isEnded]);
    }
    if (ended.aborted) pipe.close();
    stop.abort();
    await Promise.all([pipe.idle(), channel?.ended()]);
    await Promise.all(writes);

    async function openChannel() {
      const [{ McpChannel }, { PosternClient }] = await Promise.all([
        import('./mcp-channel.ts'),
        import('../../../client/postern-client.ts'),
      ]);
      const { address: _address, ...destination } = to;
      const client = new PosternClient(destination);
      return new McpChannel({ client, after: options.since, write, warn, signal: stop.signal });
    }
  });
}

import { PosternClient } from '../../src/client/postern-client.ts';
import { callbackHost } from '../../src/core/model/callback-hosts.ts';
import { boundedLines } from '../../src/core/runtime/bounded-lines.ts';
import { imsgMessage } from '../../src/features/imsg/imsg-message.ts';
import type { ImsgMethods } from '../../src/features/imsg/imsg-methods.ts';
import { ImsgRpc } from '../../src/features/imsg/imsg-rpc.ts';
import type { ImsgWatch } from '../../src/features/imsg/imsg-watch.ts';
import { channelContent, McpChannel } from '../../src/features/mcp/cli/mcp-channel.ts';
import { CONVERSATION, MESSAGE } from '../support/http-gateway.ts';
import { ANY, type Entrance } from './entrances.ts';

const METHODS = ['chats.list', 'messages.history', 'watch.subscribe', 'send', 'poll.send'];

/** Returns the entrances of the programs between a client and the service. */
export function clientPrograms(): readonly Entrance[] {
  const answers = async (): Promise<object> => ({});
  const methods = { listChats: answers, history: answers, send: answers, status: answers } as unknown as ImsgMethods;
  const watch = { subscribe: async () => ({ result: {}, begin: () => {} }) } as unknown as ImsgWatch;
  const rpc = new ImsgRpc({ methods, watch, write: async () => {}, warn: () => {} });
  const take = async (line: string): Promise<void> => {
    rpc.take(line);
    await rpc.idle();
  };
  const channel = new McpChannel({
    client: new PosternClient({ key: 'none' }),
    after: undefined,
    write: () => {},
    warn: () => {},
    signal: new AbortController().signal,
  });
  return [
    {
      name: 'a line of imsg',
      limit: ANY,
      wanted: ['{"jsonrpc":"2.0","id":1,"method":"send","params":{"text":"', '{"jsonrpc":"2.0","method":"'],
      take,
    },
    ...METHODS.map(
      (method): Entrance => ({
        name: `parameters of imsg, ${method}`,
        limit: ANY,
        wanted: ['2026-01-01T00:00:00Z', 'any;-;+1555'],
        take: (text) => {
          const params = { to: text, text, start: text, end: text, participants: [text], [text.slice(0, 9000)]: text };
          return take(JSON.stringify({ jsonrpc: '2.0', id: text, method, params }));
        },
      }),
    ),
    {
      name: 'bytes of imsg',
      limit: ANY,
      wanted: ['{}\n'],
      take: async (text) => {
        async function* input(): AsyncGenerator<Uint8Array> {
          yield Buffer.from(text);
        }
        for await (const _line of boundedLines(input(), 1024));
      },
    },
    {
      name: 'a message for imsg',
      limit: ANY,
      wanted: ['a'],
      take: (text) => {
        const conversation = { ...CONVERSATION, id: `any;+;${text}`, display_name: text };
        return JSON.stringify(imsgMessage({ ...MESSAGE, body: text, sender: text }, { number: 1, conversation }, []));
      },
    },
    {
      name: 'lines of a channel',
      limit: ANY,
      wanted: ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"reply","arguments":{"text":"'],
      take: (text) => [channel.fromClient(text), channel.fromService(text)],
    },
    {
      name: 'a text of a channel',
      limit: ANY,
      wanted: ['</channel>', '<  \t /  channel', '<channel source="messages">'],
      take: (text) => channelContent({ ...MESSAGE, body: text }),
    },
    { name: 'a host of a key', limit: 5000, wanted: ['nas.local:80', '[::1]:8123'], take: callbackHost },
  ];
}

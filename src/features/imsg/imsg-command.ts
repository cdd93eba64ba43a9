import { join } from 'node:path';
import { PosternClient } from '../../client/postern-client.ts';
import type { ClientContext } from '../../core/cli/client-context.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { json, oneLine } from '../../core/cli/output/text.ts';
import { limitedDestinationOf, Refusal, reportRefusal } from '../../core/cli/service-connection.ts';
import { cacheFolder } from '../../core/config/environment.ts';
import { LIMITED_KEY } from '../../core/model/key.ts';
import { boundedLines } from '../../core/runtime/bounded-lines.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { ImsgFiles } from './imsg-files.ts';
import { IMSG_STATUS, ImsgMethods, RPC_METHODS } from './imsg-methods.ts';
import { ImsgRpc } from './imsg-rpc.ts';
import { ImsgWatch } from './imsg-watch.ts';

const MAX_LINE_BYTES = 1024 * 1024;

/** `postern imsg`: speaks imsg's JSON-RPC for programs such as OpenClaw (decision Y1). */
export function imsgCommand(
  words: readonly string[],
  options: ConnectionOptions,
  context: ClientContext,
): Promise<number> {
  return reportRefusal(options, context, async () => {
    const [command = '', ...rest] = words.filter((word) => word !== '--json');
    const asksForHelp = rest.includes('--help') || rest.includes('-h');
    if (words.includes('--version')) context.stdout(`Postern ${context.version}, in place of imsg`);
    else if (command === 'status') context.stdout(json(IMSG_STATUS));
    else if (command === '' || command === 'help' || command.startsWith('-') || (command === 'rpc' && asksForHelp)) {
      context.stdout(...helpLines(folderOfFiles(context)));
    } else if (command === 'rpc') return serve(options, context);
    else throw new Refusal(EXIT.usage, `unknown command "${command.slice(0, 60)}": Postern has rpc and status.`);
    return EXIT.ok;
  });
}

async function serve(options: ConnectionOptions, context: ClientContext): Promise<number> {
  const { address, ...destination } = limitedDestinationOf(options, context);
  if (!LIMITED_KEY.test(destination.key)) {
    throw new Refusal(
      EXIT.keyRefused,
      'This is not a limited key. A program controlled by a model must use a limited key.',
      'Make one with "postern keys add", then pass it in the environment as POSTERN_API_KEY, or with --key-file FILE.',
    );
  }
  const client = new PosternClient(destination);
  const warn = (sentence: string): void => context.stderr(oneLine(sentence));
  const { url } = destination;
  const consoleAt = (path: string): string => (url === undefined ? 'postern open' : new URL(path, url).href);
  const files = new ImsgFiles({ client, folder: folderOfFiles(context), address, clock: systemClock, warn });
  const methods = new ImsgMethods({ client, consoleAt, files, clock: systemClock, version: context.version });
  let exitCode: number = EXIT.ok;
  let end = (): void => {};
  const isEnding = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
  });
  const write = (line: string): Promise<void> => context.writeLine(line);
  const watch = new ImsgWatch({
    client,
    methods,
    notify: (method, params) => write(json({ jsonrpc: '2.0', method, params })),
    warn,
    onAway(reason) {
      if (exitCode === EXIT.ok) warn(`${reason} Exiting, so that the client starts this program again and resumes.`);
      exitCode = EXIT.unavailable;
      end();
    },
  });
  const rpc = new ImsgRpc({ methods, watch, write, warn });
  const asked = context.untilEnded();
  asked.addEventListener('abort', end);
  const lines = boundedLines(context.input(), MAX_LINE_BYTES);
  for (;;) {
    await rpc.room();
    const next = await Promise.race([lines.next(), isEnding]);
    if (next === undefined || next.done === true) break;
    rpc.take(next.value);
  }
  const left = watch.close();
  // Answers the waiting requests before the exit, except after an interruption or if the service is away.
  if (exitCode === EXIT.ok && !asked.aborted) await Promise.all([left, rpc.idle()]);
  return exitCode;
}

function folderOfFiles({ environment }: ClientContext): string {
  return join(cacheFolder(environment), 'imsg');
}

function helpLines(folder: string): readonly string[] {
  return [
    'Usage: postern imsg [--url ADDRESS] [--key-file FILE] rpc | status --json',
    '',
    `Speaks imsg's JSON-RPC over stdin and stdout: ${RPC_METHODS.join(', ')}.`,
    'It connects to the running service with a limited key, and opens no database.',
    '',
    `Files of messages are kept for 7 days, at most 500 MB, in ${folder}`,
    'For OpenClaw, name that folder in channels.imessage.attachmentRoots.',
  ];
}

import type { ThreadTargets } from '../reader-worker.ts';
import { Connection } from './chatdb/connection.ts';
import type { Decoder } from './chatdb/decoder.ts';
import type { Config } from './config/config.ts';
import { hiddenTexts } from './feature.ts';
import type { Host } from './host.ts';
import type { Cleanup } from './runtime/cleanup.ts';
import { ReaderThread } from './runtime/reader-thread.ts';

const READER_WORKER = new URL('../reader-worker.js', import.meta.url);

interface InputParts {
  readonly config: Config;
  readonly host: Host;
  readonly closers: Cleanup;
  /** Needed only without a reader thread. */
  readonly decoders: readonly Decoder[];
}

/** Opens chat.db. The reader thread starts at its first use. */
export function openChatDb({ config, host, closers, decoders }: InputParts) {
  const { clock, log, homeFolder: home } = host;
  const { chatDbPath: path, associatedRows } = config.backend;
  const kinds = { associatedRows, hidden: hiddenTexts(config, host.features) };
  const thread = ReaderThread.isSupported
    ? new ReaderThread<ThreadTargets>({ script: READER_WORKER, path, home, ...kinds, clock, log })
    : undefined;
  const survey = thread && (() => thread.call('lists', 'survey'));
  const connection = new Connection({ path, home, log, ...kinds, decoders }, survey);
  closers.add('chat.db', () => connection.close());
  closers.add('reader thread', { end: () => thread?.hurry(), close: () => thread?.close() });
  return { connection, thread };
}

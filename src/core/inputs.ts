import type { ThreadTargets } from '../reader-worker.ts';
import { Connection } from './chatdb/connection.ts';
import type { CoreBase } from './core.ts';
import { hiddenTexts } from './feature.ts';
import { ReaderThread } from './runtime/reader-thread.ts';

const READER_WORKER = new URL('../reader-worker.js', import.meta.url);

/** Opens chat.db. The reader thread starts at its first use. */
export function openChatDb({ config, host, closers, decoders }: CoreBase) {
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

import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import type { Decoder } from '../../src/core/chatdb/decoder.ts';
import type { AssociatedRows } from '../../src/core/model/associated-rows.ts';
import type { HiddenText } from '../../src/core/model/hidden-text.ts';
import { ChatFixture, type Schema } from './chat-fixture.ts';
import { collectingLog } from './log.ts';
import { temporaryFolder } from './temporary.ts';

/** Opens new databases and their writers for one test file, and closes everything at its end. */
export function chatDatabases() {
  const folder = temporaryFolder();
  const opened: (() => void)[] = [];
  let files = 0;
  // Runs before the folder is removed.
  afterAll(() => {
    for (const close of opened) close();
  });
  const open = (
    schema: Schema = 'macos-26',
    path?: string,
    associatedRows: AssociatedRows = 'reactions',
    hidden: readonly HiddenText[] = [],
    decoders: readonly Decoder[] = [],
  ) => {
    files += 1;
    const fixture = new ChatFixture(path ?? join(folder, `chat-${files}.db`), schema);
    const log = collectingLog();
    const kinds = { associatedRows, hidden, decoders };
    const connection = new Connection({ path: fixture.path, home: '/Users/ada', log, ...kinds });
    opened.push(() => {
      connection.close();
      fixture.close();
    });
    return { fixture, log, connection };
  };
  return { folder, open };
}

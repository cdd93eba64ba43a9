import type { Log } from '../model/ports/host-ports.ts';
import { Connection } from './connection.ts';

export interface ChatDbLocation {
  readonly chatDbPath: string;
  readonly homeFolder: string;
}

/** Opens chat.db for one read, in programs other than the service. Throws `chat_db_unavailable` if that fails. */
export function readOnce<Result>(
  { chatDbPath, homeFolder }: ChatDbLocation,
  read: (connection: Connection) => Result,
): Result {
  const connection = new Connection({ path: chatDbPath, home: homeFolder, log: SILENT });
  try {
    return read(connection);
  } finally {
    connection.close();
  }
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };

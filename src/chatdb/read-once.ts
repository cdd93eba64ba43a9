import type { LogIdentity } from '../domain/cursor.ts';
import type { Offset } from '../domain/offset.ts';
import type { Log } from '../domain/ports/host.ts';
import { stagedFoldersInUse } from './attachment-files.ts';
import { Connection } from './connection.ts';
import { ChatLog } from './message-log.ts';

// For programs that are not the service. Everything here throws AppError `chat_db_unavailable` when chat.db cannot be read.

export interface ChatDbPlace {
  readonly chatDbPath: string;
  readonly homeFolder: string;
}

/** Names of the folders in `stagingFolder` that hold a file some attachment in chat.db refers to. */
export function readStagedFoldersInUse(place: ChatDbPlace & { readonly stagingFolder: string }): ReadonlySet<string> {
  const { stagingFolder } = place;
  return readOnce(place, (connection) => new Set([...stagedFoldersInUse(connection, stagingFolder)].flat()));
}

/** Facts for `isReplaced`. */
export function readLogIdentity(place: ChatDbPlace, at: Offset): LogIdentity {
  return readOnce(place, (connection) => new ChatLog(connection).identity(at));
}

function readOnce<Result>({ chatDbPath, homeFolder }: ChatDbPlace, use: (connection: Connection) => Result): Result {
  const connection = new Connection({ path: chatDbPath, home: homeFolder, log: SILENT });
  try {
    return use(connection);
  } finally {
    connection.close();
  }
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };

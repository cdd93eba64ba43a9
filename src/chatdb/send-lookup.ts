import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Message } from '../domain/message.ts';
import type { KnownChat, OwnRow, SendLookup } from '../domain/ports/sending.ts';
import { stagedFoldersInUse } from './attachment-files.ts';
import { ATTACHMENT_COLUMNS, MESSAGE_COLUMNS, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { messageOf, toMessage } from './message.ts';
import { addressOf } from './queries.ts';
import { chatsOf } from './recent-conversations.ts';
import type { Chat, Snapshot } from './snapshot.ts';

/** More own rows than this in the seconds of one send mean that something else is going on. */
const MAX_OWN_ROWS = 1000;

/** What a send asks chat.db: whom the recipient means, and whether its row has come (decisions D2, D5). */
export class ChatSendLookup implements SendLookup {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  chats(recipient: string): readonly KnownChat[] {
    return this.#connection.read((snapshot) =>
      chatsMeant(snapshot, recipient).map(({ guid, service }) => ({ guid, service })),
    );
  }

  highestRowId(): number {
    return this.#connection.read(({ database, queries }) => Number(database.get(queries.highestRowId)?.[0] ?? 0));
  }

  ownRowsAbove(rowId: number): readonly OwnRow[] {
    return this.#connection.read((snapshot) =>
      snapshot.database.all(snapshot.queries.ownRows, rowId, MAX_OWN_ROWS).map((row) => {
        const message = toMessage(row, snapshot);
        const rowId = row[MESSAGE_COLUMNS.at.rowId] as number;
        return {
          rowId,
          guid: message.guid,
          datedMs: Date.parse(message.timestamp),
          address: message.conversation_id === '' ? null : addressOf(message.conversation_id),
          body: message.body,
          attachmentNames: attachmentNames(snapshot, rowId),
        };
      }),
    );
  }

  message(rowId: number): Message | undefined {
    return this.#connection.read((snapshot) => messageOf(snapshot, rowId));
  }

  async stagedFoldersInUse(stagingFolder: string): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    for (const found of stagedFoldersInUse(this.#connection, stagingFolder)) {
      for (const name of found) names.add(name);
      // Everything else has its turn between two slices.
      await setImmediate();
    }
    return names;
  }
}

/** An id in any variant, else the one-to-one chats of an address, else the group of a bare identifier. */
export function chatsMeant(snapshot: Snapshot, recipient: string): readonly Chat[] {
  if (recipient.includes(';')) return chatsOf(snapshot, recipient);
  const oneToOne = chatsOf(snapshot, `any;-;${recipient}`);
  return oneToOne.length > 0 ? oneToOne : chatsOf(snapshot, `any;+;${recipient}`);
}

/** Both the name on disk and the name as transferred: a staged file may have been renamed. */
function attachmentNames({ database, queries }: Snapshot, rowId: number): readonly string[] {
  const { at } = ATTACHMENT_COLUMNS;
  const names = database
    .all(queries.attachments, rowId)
    .flatMap((row) => [basename(toText(row[at.filename])), toText(row[at.transferName])]);
  return [...new Set(names.filter((name) => name !== ''))];
}

import { basename } from 'node:path';
import type { Message } from '../domain/message.ts';
import type { ChatTarget, OwnRow, SendLookup } from '../domain/ports/sending.ts';
import type { Connection } from './connection.ts';
import type { Chat, Edition } from './edition.ts';
import { messageOf } from './reader.ts';
import { toMessage, toText } from './rows.ts';
import { addressOf } from './spellings.ts';

/** More own rows than this in the seconds of one send mean that something else is going on. */
const MOST_OWN_ROWS = 1000;

/** What a send asks chat.db: whom the recipient means, and whether its row has come (D2, D5). */
export class ChatSendLookup implements SendLookup {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** An id in any spelling, else the one-to-one chat of an address, else the group of a bare identifier. */
  target(recipient: string): ChatTarget | undefined {
    return this.#connection.read((edition) => {
      const [best, ...others] = chatsMeant(edition, recipient);
      if (best === undefined) return undefined;
      return { guid: best.guid, chatIds: [best, ...others].map(({ guid }) => guid), service: best.service };
    });
  }

  highestRowId(): number {
    return this.#connection.read(({ database }) => Number(database.get(database.queries.highestRowId)?.[0] ?? 0));
  }

  ownRowsAbove(rowId: number): readonly OwnRow[] {
    return this.#connection.read((edition) =>
      edition.database.all(edition.database.queries.ownRows, rowId, MOST_OWN_ROWS).map((row) => {
        const message = toMessage(row, edition);
        return {
          rowId: row[0] as number,
          address: message.conversation_id === '' ? null : addressOf(message.conversation_id),
          body: message.body,
          attachmentNames: attachmentNames(edition, row[0] as number),
        };
      }),
    );
  }

  message(rowId: number): Message | undefined {
    return this.#connection.read((edition) => messageOf(edition, rowId));
  }
}

function chatsMeant(edition: Edition, recipient: string): readonly Chat[] {
  if (recipient.includes(';')) return edition.chatsOf(recipient);
  const oneToOne = edition.chatsOf(`any;-;${recipient}`);
  return oneToOne.length > 0 ? oneToOne : edition.chatsOf(`any;+;${recipient}`);
}

/** Both the name on disk and the name as transferred: a staged file may have been renamed. */
function attachmentNames({ database }: Edition, rowId: number): readonly string[] {
  const names = database
    .all(database.queries.attachments, rowId)
    .flatMap(([filename, transferName]) => [basename(toText(filename)), toText(transferName)]);
  return [...new Set(names.filter((name) => name !== ''))];
}

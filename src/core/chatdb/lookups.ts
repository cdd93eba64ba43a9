import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { addressOf, chatIdentity, groupId, withoutTags } from '../model/address.ts';
import { isChatDbAway } from '../model/errors.ts';
import { folded } from '../model/folded.ts';
import type { ChatNames } from '../model/ports/chat-names-ports.ts';
import type { ChatDirectory, ChatMembers } from '../model/ports/directory-ports.ts';
import type { OwnRow, SendLookup } from '../model/ports/sending-ports.ts';
import type { Row } from '../runtime/sqlite.ts';
import { stagedFoldersInUse } from './attachment-files.ts';
import type { Chat } from './chat.ts';
import { ATTACHMENT_COLUMNS, fromUnixMs, INT_PARAM, MESSAGE_COLUMNS, TEXT_PARAM, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { chatsOf } from './meant-chats.ts';
import { messageOf, toMessage } from './message.ts';
import { isGroupSql } from './named-chats.ts';
import { perSchema } from './schema-info.ts';
import { isMirror } from './self-copies.ts';
import type { Snapshot } from './snapshot.ts';

/** Maximum number of outgoing rows that each look-up for a send returns. */
const MAX_OWN_ROWS = 1000;

/**
 * SQL that is 1 if no chat of a row had a message before a send, and NULL if the row is in no chat. Parameters: the
 * highest row id before the send, and the row id of the row.
 */
const IS_NEW_CHAT = `SELECT min(NOT EXISTS (SELECT 1 FROM chat_message_join old
    WHERE old.chat_id = j.chat_id AND old.message_id <= ${INT_PARAM}))
  FROM chat_message_join j WHERE j.message_id = ${INT_PARAM}`;

/**
 * SQL for the service of the newest delivered message to an address. For services other than iMessage, a message that
 * was only sent counts too, because such services may have no receipts. Undefined without an index on `handle_id`.
 * Parameter: a JSON array of the address's spellings.
 */
const serviceToSql = perSchema((schema) => {
  const has = (...names: readonly string[]): boolean => names.every((name) => schema.hasColumn('message', name));
  if (!has('service', 'is_sent', 'error', 'is_delivered') || !schema.hasIndex('message', 'handle_id')) return undefined;
  return `SELECT m.service FROM json_each(${TEXT_PARAM}) i CROSS JOIN handle h ON h.id = i.value
    CROSS JOIN ${schema.messagesByIndex} m ON m.handle_id = h.ROWID
    WHERE m.is_from_me AND m.error = 0
      AND (m.is_delivered OR (m.is_sent AND m.service <> 'iMessage'))
    ORDER BY m.date DESC LIMIT 1`;
});

/**
 * Looks up for a send which chat the recipient refers to, and whether the send's row has arrived (decisions D2, D5).
 */
export function chatSendLookup(connection: Connection): SendLookup {
  return {
    chats: (recipient) =>
      connection.read((snapshot) =>
        [...chatsMeant(snapshot, recipient)]
          .sort((a, b) => Number(isTagged(a)) - Number(isTagged(b)))
          // Messages cannot send to a chat whose address has a tag, so the send goes to the address itself.
          .map(({ guid, otherIds, sendId, service }) => ({
            guid: withoutTags(sendId),
            service,
            ...(otherIds.length > 0 && { conversation: guid }),
          })),
      ),
    highestRowId: () =>
      connection.read(({ database, queries }) => Number(database.get(queries.highestRowId)?.[0] ?? 0)),
    ownRowsAbove: (rowId, sinceMs) =>
      connection.read((snapshot) =>
        snapshot.database
          .all(snapshot.queries.ownRows, rowId, fromUnixMs(sinceMs), MAX_OWN_ROWS)
          .map((row) => toOwnRow(snapshot, row)),
      ),
    newestServiceTo: (address) =>
      connection.read(({ database, spellings }) => {
        const sql = serviceToSql(database.schema);
        if (sql === undefined) return undefined;
        return toText(database.get(sql, JSON.stringify(spellings.ofAddress(address)))?.[0]) || undefined;
      }),
    isNewChat: (rowId, afterRowId) =>
      connection.read(({ database }) => database.get(IS_NEW_CHAT, afterRowId, rowId)?.[0] === 1),
    message: (rowId) => connection.read((snapshot) => messageOf(snapshot, rowId)),
    isMirror: (message, sent) => connection.read((snapshot) => isMirror(snapshot, message, [], sent)),
    async stagedFoldersInUse(stagingFolder) {
      const names = new Set<string>();
      for (const found of stagedFoldersInUse(connection, stagingFolder)) {
        for (const name of found) names.add(name);
        // Lets the event loop run other work between two slices.
        await setImmediate();
      }
      return names;
    },
  };
}

function toOwnRow(snapshot: Snapshot, row: Row): OwnRow {
  const message = toMessage(row, snapshot);
  const rowId = row[MESSAGE_COLUMNS.at.rowId] as number;
  const textGuid = toText(row.at(-1));
  return {
    rowId,
    guid: message.guid,
    datedMs: Date.parse(message.timestamp),
    address: message.conversation_id === '' ? null : addressOf(message.conversation_id),
    body: message.body,
    attachmentNames: attachmentNames(snapshot, rowId),
    ...(textGuid !== '' && { textGuid }),
  };
}

function isTagged({ guid }: Chat): boolean {
  return guid !== withoutTags(guid);
}

/**
 * Returns the chats that a recipient may refer to. A recipient with `;` is a chat's guid in any variant. Any other
 * recipient is an address, and refers to the one-to-one chats with that address. If there are none, the recipient is
 * the bare identifier of a group. An id that looks like a group's is the group's even if it has the style of a person,
 * because Messages may have made a chat with a person of that name.
 */
function chatsMeant(snapshot: Snapshot, recipient: string): readonly Chat[] {
  const group = chatIdentity(recipient)?.style === '+' ? undefined : groupId(recipient);
  const groups = group === undefined ? [] : chatsOf(snapshot, group);
  if (groups.length > 0) return groups;
  if (recipient.includes(';')) return chatsOf(snapshot, recipient);
  const oneToOne = chatsOf(snapshot, `any;-;${recipient}`);
  return oneToOne.length > 0 ? oneToOne : chatsOf(snapshot, `any;+;${recipient}`);
}

/** Returns each attachment's name on disk and its transferred name, because Messages may rename a staged file. */
function attachmentNames({ database, queries }: Snapshot, rowId: number): readonly string[] {
  const { at } = ATTACHMENT_COLUMNS;
  const names = database
    .all(queries.attachments, rowId)
    .flatMap((row) => [basename(toText(row[at.filename])), toText(row[at.transferName])]);
  return [...new Set(names.filter((name) => name !== ''))];
}

interface DirectoryQueries {
  /** Selects the row ids of the chats with this member. Parameter: a JSON array of the address's spellings. */
  readonly withMember: string;
  /** Selects the row id of each row and of each chat that it is in. Parameter: a JSON array of row ids. */
  readonly chatsOfRows: string;
  /** Selects a row if the chat has an outgoing message. Parameter: row id of the chat. */
  readonly ownMessage: string;
}

const MAX_KNOWN_CHATS = 1000;

const directoryQueriesOf = perSchema((schema): DirectoryQueries => {
  const hasMembers = schema.hasTable('chat_handle_join');
  return {
    withMember: hasMembers
      ? `SELECT DISTINCT j.chat_id FROM json_each(${TEXT_PARAM}) i CROSS JOIN handle h ON h.id = i.value
         CROSS JOIN chat_handle_join j ON j.handle_id = h.ROWID ORDER BY j.chat_id`
      : 'SELECT NULL WHERE ? IS NULL',
    chatsOfRows: `WITH i AS (SELECT value FROM json_each(${TEXT_PARAM})) ${['chat', 'chat_recoverable']
      .map((kind) => `${kind}_message_join`)
      .filter((table) => schema.hasTable(table))
      .map((table) => `SELECT j.message_id, j.chat_id FROM i CROSS JOIN ${table} j ON j.message_id = i.value`)
      .join(' UNION ALL ')}`,
    ownMessage: `SELECT 1 FROM chat_message_join j CROSS JOIN message m ON m.ROWID = j.message_id
      WHERE j.chat_id = ${INT_PARAM} AND m.is_from_me LIMIT 1`,
  };
});

/** Reads the members of each chat, for access checks. */
export class MessagesDirectory implements ChatDirectory {
  readonly #connection: Connection;
  readonly #chats = new Map<string, ChatMembers | undefined>();
  /** The result of `version()` when `#chats` was read. */
  #chatsVersion: unknown;
  #version: unknown;
  /** The last answer of `chatsOfRows`: of one event, every client with a limited key asks the same. */
  #lastRows:
    | { readonly version: unknown; readonly asked: string; readonly found: ReadonlyMap<number, readonly string[]> }
    | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Returns an object that stands for the current state of chat.db. Asks SQLite at most once per task of the event
   * loop, because one task may serve a thousand clients.
   */
  version(): unknown {
    if (this.#version === undefined) {
      this.#version = this.#connection.snapshot();
      queueMicrotask(() => {
        this.#version = undefined;
      });
    }
    return this.#version;
  }

  meant(recipient: string): readonly ChatMembers[] {
    return this.#connection.read((snapshot) => chatsMeant(snapshot, recipient).map(toMembers));
  }

  chat(guid: string): ChatMembers | undefined {
    const version = this.version();
    if (version !== this.#chatsVersion || this.#chats.size >= MAX_KNOWN_CHATS) {
      this.#chatsVersion = version;
      this.#chats.clear();
    }
    const known = this.#chats.get(guid);
    if (known !== undefined || this.#chats.has(guid)) return known;
    const chat = this.#readChat(guid);
    this.#chats.set(guid, chat);
    return chat;
  }

  withMember(address: string): readonly ChatMembers[] {
    return this.#connection.read((snapshot) => this.#chatsWith(snapshot, address).map(toMembers));
  }

  closed(): readonly ChatMembers[] {
    return [];
  }

  conversationOf(rowId: number): string | undefined {
    return this.#connection.read((snapshot) => messageOf(snapshot, rowId)?.conversation_id);
  }

  chatsOfRows(rowIds: readonly number[]): ReadonlyMap<number, readonly string[]> {
    const version = this.version();
    const asked = JSON.stringify(rowIds);
    if (this.#lastRows?.asked === asked && this.#lastRows.version === version) return this.#lastRows.found;
    const found = this.#connection.read((snapshot) => {
      const { chatsOfRows } = directoryQueriesOf(snapshot.database.schema);
      const chats = new Map<number, string[]>();
      for (const [row, chat] of snapshot.database.all(chatsOfRows, asked)) {
        const guids = chats.get(row as number) ?? [];
        chats.set(row as number, guids);
        guids.push(snapshot.chat(chat as number)?.guid ?? '');
      }
      return chats;
    });
    this.#lastRows = { version, asked, found };
    return found;
  }

  hasOwnMessage(guid: string): boolean {
    return this.#connection.read((snapshot) => {
      const { ownMessage } = directoryQueriesOf(snapshot.database.schema);
      const chats = snapshot.chatsNamed(guid);
      return chats.some(({ rowIds }) => rowIds.some((rowId) => snapshot.database.get(ownMessage, rowId) !== undefined));
    });
  }

  #readChat(guid: string): ChatMembers | undefined {
    return this.#connection.read((snapshot) => {
      const chats = snapshot.chatsNamed(guid);
      const [first] = chats;
      if (first === undefined) return undefined;
      // A damaged database may have two chats with one guid. The members of both count.
      const members = [...new Set(chats.flatMap((chat) => chat.participants()))];
      return { ...toMembers(first), isGroup: chats.some(({ isGroup }) => isGroup), members };
    });
  }

  #chatsWith(snapshot: Snapshot, address: string): readonly Chat[] {
    const { withMember } = directoryQueriesOf(snapshot.database.schema);
    const rows = snapshot.database.all(withMember, JSON.stringify(snapshot.spellings.ofAddress(address)));
    return [...new Set(rows.map(([rowId]) => snapshot.chat(rowId as number)))].filter((chat) => chat !== undefined);
  }
}

function toMembers(chat: Chat): ChatMembers {
  const { guid, isGroup, otherIds } = chat;
  return { guid, isGroup, members: chat.participants(), ...(otherIds.length > 0 && { otherIds }) };
}

/** All ids of a chat: a message may have been indexed before its group was joined to another. */
function allIds({ guid, otherIds }: Chat): readonly string[] {
  return [guid, ...otherIds];
}

const nameQueriesOf = perSchema((schema) => ({
  /** Selects a row if a handle has one of these addresses. Parameter: a JSON array. */
  handle: `SELECT 1 FROM json_each(${TEXT_PARAM}) i CROSS JOIN handle h ON h.id = i.value LIMIT 1`,
  /** Row id and display name of every group that has a display name. */
  displayNames: schema.hasColumn('chat', 'display_name')
    ? `SELECT c.ROWID, c.display_name FROM chat c WHERE c.display_name <> '' AND ${isGroupSql(schema)} ORDER BY c.ROWID`
    : 'SELECT ROWID, NULL FROM chat WHERE 0',
}));

/** Looks up in chat.db conversations and senders by what people call them. */
export function chatDbNames(connection: Connection): ChatNames {
  return {
    conversations(idOrAddress) {
      const chats = connection.read((snapshot) => chatsMeant(snapshot, idOrAddress));
      return (idOrAddress.includes(';') ? chats.slice(0, 1) : chats).flatMap(allIds);
    },
    named(name) {
      const wanted = folded(name);
      return connection.read((snapshot) => {
        const rows = snapshot.database.all(nameQueriesOf(snapshot.database.schema).displayNames);
        const chats = rows
          .filter(([, displayName]) => folded(toText(displayName)) === wanted)
          .map(([rowId]) => snapshot.chat(rowId as number));
        return [...new Set(chats)].flatMap((chat) => (chat === undefined || chat.guid === '' ? [] : [allIds(chat)]));
      });
    },
    isAddress: (text) =>
      connection.read(({ database, spellings }) => {
        const { handle } = nameQueriesOf(database.schema);
        return database.get(handle, JSON.stringify(spellings.ofAddress(text))) !== undefined;
      }),
  };
}

/** Returns a function that reports whether the message table has a column; undefined while chat.db is unreadable. */
export function messageColumns(connection: Connection): ((name: string) => boolean) | undefined {
  try {
    return connection.read(
      ({ database: { schema } }) =>
        (name) =>
          schema.hasColumn('message', name),
    );
  } catch (error) {
    if (isChatDbAway(error)) return undefined;
    throw error;
  }
}

import { appleDate, type ChatDatabase } from './chat-database.ts';
import { Chance, chatter } from './chatter.ts';
import { Inserts } from './inserts.ts';
import { encodeAttributedBody, type Run } from './typedstream.ts';

/** The size of the history that `fillLarge` creates. */
export interface Filling {
  /** Number of rows of `message`, including reactions and notices. */
  readonly messages: number;
  readonly conversations: number;
  /** Number of rows of the busiest conversation. Every other conversation has at least one row. */
  readonly busiest: number;
  /** Equal seeds give equal rows. */
  readonly seed: number;
}

const FIRST_MS = Date.UTC(2016, 0, 1);
const TEN_YEARS_MS = Date.UTC(2026, 0, 1) - FIRST_MS;
/**
 * Release date of macOS High Sierra. Earlier messages are dated in whole seconds. In old conversations, the chat joins
 * of these messages have no date: mostly 0, sometimes NULL.
 */
const HIGH_SIERRA_MS = Date.UTC(2017, 8, 25);

const ROWS_A_COMMIT = 50_000;
const REACTIONS = [2000, 2000, 2000, 2001, 2001, 2002, 2003, 2003, 2004, 2005, 2006] as const;
const FILES: readonly [FileKind, ...FileKind[]] = [
  ['heic', 'image/heic'],
  ['jpg', 'image/jpeg'],
  ['png', 'image/png'],
  ['mov', 'video/quicktime'],
  ['pdf', 'application/pdf'],
];
const PART = '__kIMMessagePartAttributeName';
const OBJECT = '\uFFFC';

const MESSAGE = `ROWID guid text attributedBody handle_id service date date_read date_delivered is_from_me is_delivered
  is_sent is_read item_type group_title associated_message_type associated_message_guid associated_message_emoji
  associated_message_range_length thread_originator_guid thread_originator_part date_edited cache_has_attachments
  cache_roomnames version account account_guid is_finished destination_caller_id part_count`.split(/\s+/);
const JOIN = ['chat_id', 'message_id', 'message_date'];
const ATTACHMENT =
  `ROWID guid original_guid created_date filename uti mime_type transfer_state is_outgoing transfer_name
  total_bytes`.split(/\s+/);
const ATTACHMENT_JOIN = ['message_id', 'attachment_id'];

type FileKind = readonly [ending: string, mimeType: string];

interface Conversation {
  readonly chat: number;
  readonly service: string;
  readonly roomName: string | null;
  readonly members: readonly [Member, ...Member[]];
  /** True if the conversation's chat joins from before High Sierra have no date. */
  readonly isOld: boolean;
  /** Guid of the message that the next reaction or reply refers to. Empty before the first message. */
  lastGuid: string;
}

interface Member {
  readonly address: string;
  readonly handle: number;
}

/**
 * Fills an empty database with ten years of messages: one conversation far busier than the rest, groups, reactions,
 * replies, attachments, old chats with undated joins, and rows that arrived later than their dates. Four bodies in five
 * are only in attributedBody, and hardly any two bodies are alike.
 *
 * For speed, drops the schema's indexes and triggers first, writes the results of the triggers itself, and restores
 * both once all rows exist. The restored indexes have the entries that Messages would have written, only more tightly
 * packed than after years of inserts.
 */
export function fillLarge(database: ChatDatabase, filling: Filling): void {
  const { sqlite } = database;
  sqlite.exec(`PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;
    PRAGMA foreign_keys = OFF`);
  const dropped = sqlite
    .prepare(`SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL`)
    .all();
  for (const [type, name] of dropped) sqlite.exec(`DROP ${String(type)} "${String(name)}"`);
  new Filler(database, filling).fill();
  database.transaction(() => {
    for (const [, , sql] of dropped) sqlite.exec(String(sql));
  });
  database.analyze();
  sqlite.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -2000;
    PRAGMA foreign_keys = ON; PRAGMA wal_checkpoint(TRUNCATE)`);
}

class Filler {
  readonly #database: ChatDatabase;
  readonly #filling: Filling;
  readonly #chance: Chance;
  readonly #messages: Inserts;
  readonly #joins: Inserts;
  readonly #attachments: Inserts;
  readonly #attachmentJoins: Inserts;
  #attachmentCount = 0;

  constructor(database: ChatDatabase, filling: Filling) {
    this.#database = database;
    this.#filling = filling;
    this.#chance = new Chance(filling.seed);
    this.#messages = new Inserts(database, 'message', MESSAGE);
    this.#joins = new Inserts(database, 'chat_message_join', JOIN);
    this.#attachments = new Inserts(database, 'attachment', ATTACHMENT);
    this.#attachmentJoins = new Inserts(database, 'message_attachment_join', ATTACHMENT_JOIN);
  }

  fill(): void {
    const conversations = this.#database.transaction(() => this.#makeConversations());
    const turns = turnsOf(this.#filling, this.#chance);
    for (let from = 0; from < turns.length; from += ROWS_A_COMMIT) {
      this.#database.transaction(() => {
        for (let at = from; at < Math.min(from + ROWS_A_COMMIT, turns.length); at += 1) {
          const conversation = conversations[turns[at] ?? 0];
          if (conversation !== undefined) this.#addRow(at, conversation);
        }
        for (const inserts of [this.#messages, this.#joins, this.#attachments, this.#attachmentJoins]) inserts.flush();
      });
    }
  }

  #makeConversations(): readonly Conversation[] {
    const chance = this.#chance;
    return Array.from({ length: this.#filling.conversations }, (_, number): Conversation => {
      const isGroup = number % 5 === 3;
      const service = number % 9 === 4 ? 'SMS' : 'iMessage';
      const people = isGroup ? Array.from({ length: 3 + chance.below(8) }, () => chance.below(number + 1)) : [number];
      const addresses = [...new Set(people)].map((person) =>
        person % 4 === 1 ? `someone.${person}@example.com` : `+1555${String(1_000_000 + person)}`,
      );
      const [address = ''] = addresses;
      const identifier = isGroup ? `chat${String(100_000_000 + chance.below(800_000_000))}${number}` : address;
      const guid = this.#database.chatGuid(identifier, isGroup ? '+' : '-', service);
      const chat = this.#database.chat(guid, addresses, {
        service_name: service,
        group_id: chance.guid(),
        display_name: isGroup && chance.in(0.6) ? `Group ${number}` : '',
      });
      if (this.#database.hasColumn('chat_service', 'chat')) this.#database.insert('chat_service', { service, chat });
      const member = (one: string): Member => ({ address: one, handle: this.#database.handle(one, service) });
      return {
        chat,
        service,
        roomName: isGroup ? identifier : null,
        members: [member(address), ...addresses.slice(1).map(member)],
        isOld: number % 50 === 1,
        lastGuid: '',
      };
    });
  }

  #addRow(at: number, conversation: Conversation): void {
    const chance = this.#chance;
    const { chat, service, roomName, members, lastGuid } = conversation;
    const rowId = at + 1;
    const guid = chance.guid();
    const isOwn = chance.in(0.4);
    const member = chance.of(members);
    const dateMs = this.#dateMs(at);
    const date = chatDate(dateMs, chance);
    const isRenaming = roomName !== null && chance.in(0.01);
    const isReaction = !isRenaming && lastGuid !== '' && chance.in(0.08);
    const type = isReaction ? chance.of(REACTIONS) : 0;
    const emoji = type === 2006 ? chance.of(['🎉', '🙏', '🫠']) : null;
    const isReply = !isRenaming && !isReaction && lastGuid !== '' && chance.in(0.04);
    const fileCount = isRenaming || isReaction || !chance.in(0.05) ? 0 : chance.of([1, 1, 1, 2, 4]);
    const text = isReaction
      ? `Reacted ${emoji ?? 'somehow'} to “${chatter(chance).slice(0, 40)}”`
      : OBJECT.repeat(fileCount) + (fileCount > 0 && chance.in(0.5) ? '' : chatter(chance));
    const runs = runsOf(text, fileCount, guid, chance.in(0.02) ? member.address : undefined);
    const isRead = chance.in(0.7);
    this.#messages.add([
      rowId,
      guid,
      isRenaming || chance.in(0.8) ? null : text,
      isRenaming ? null : encodeAttributedBody(text, runs),
      isOwn && roomName === null && chance.in(0.5) ? 0 : member.handle,
      service,
      date,
      isRead && chance.in(0.5) ? date + 60_000_000_000n : 0n,
      isOwn && chance.in(0.9) ? date + 2_000_000_000n : 0n,
      isOwn ? 1 : 0,
      isOwn && chance.in(0.1) ? 0 : 1,
      isOwn ? 1 : 0,
      isRead ? 1 : 0,
      isRenaming ? 2 : 0,
      isRenaming ? chatter(chance).slice(0, 20) : null,
      type,
      isReaction ? `p:0/${lastGuid}` : null,
      emoji,
      isReaction ? 1 : 0,
      isReply ? lastGuid : null,
      isReply ? '0:0:1' : null,
      chance.in(0.01) ? date + 90_000_000_000n : 0n,
      fileCount > 0 ? 1 : 0,
      roomName,
      10,
      'E:me@example.com',
      'ACCOUNT-1',
      1,
      'me@example.com',
      Math.max(1, fileCount),
    ]);
    const isDated = !conversation.isOld || dateMs >= HIGH_SIERRA_MS;
    this.#joins.add([chat, rowId, isDated ? date : chance.in(0.2) ? null : 0n]);
    for (let file = 0; file < fileCount; file += 1) this.#addAttachment(rowId, `at_${file}_${guid}`, date, isOwn);
    if (!isReaction && !isRenaming && (conversation.lastGuid === '' || chance.in(0.7))) conversation.lastGuid = guid;
  }

  #addAttachment(message: number, guid: string, date: bigint, isOwn: boolean): void {
    const chance = this.#chance;
    this.#attachmentCount += 1;
    const [ending, mimeType] = chance.of(FILES);
    const name = `IMG_${1000 + chance.below(9000)}.${ending}`;
    const folder = `${chance.below(256).toString(16).padStart(2, '0')}/${String(chance.below(16)).padStart(2, '0')}`;
    const filename = `~/Library/Messages/Attachments/${folder}/${guid}/${name}`;
    const bytes = 20_000 + chance.below(5_000_000);
    this.#attachments.add([
      this.#attachmentCount,
      guid,
      guid,
      date / 1_000_000_000n,
      filename,
      `public.${ending}`,
      mimeType,
      chance.in(0.9) ? 5 : 0,
      isOwn ? 1 : 0,
      name,
      bytes,
    ]);
    this.#attachmentJoins.add([message, this.#attachmentCount]);
  }

  /**
   * Returns the date of row number `at` in Unix milliseconds. Dates ascend, except for a few rows that iCloud delivered
   * late.
   */
  #dateMs(at: number): number {
    const arrivedMs = ((at + this.#chance.next()) / this.#filling.messages) * TEN_YEARS_MS;
    return FIRST_MS + Math.floor(this.#chance.in(0.005) ? arrivedMs * this.#chance.next() : arrivedMs);
  }
}

/**
 * Returns the conversation's number for each row, in random order. Conversation 0 is the busiest. Only a few of the
 * others are busy.
 */
function turnsOf({ messages, conversations, busiest }: Filling, chance: Chance): Uint32Array {
  const turns = new Uint32Array(messages);
  for (let at = 0; at < messages; at += 1) {
    const isFirstOfItsOwn = at < conversations;
    const other = 1 + Math.floor((conversations - 1) * chance.next() ** 3);
    turns[at] = isFirstOfItsOwn ? at : at < conversations + busiest - 1 ? 0 : other;
  }
  for (let at = messages - 1; at > 0; at -= 1) {
    const other = chance.below(at + 1);
    [turns[at], turns[other]] = [turns[other] ?? 0, turns[at] ?? 0];
  }
  return turns;
}

function chatDate(ms: number, chance: Chance): bigint {
  if (ms < HIGH_SIERRA_MS) return appleDate(Math.floor(ms / 1000) * 1000);
  return appleDate(ms) + BigInt(chance.below(1_000_000));
}

function runsOf(text: string, fileCount: number, guid: string, mentioned: string | undefined): readonly Run[] {
  const files = Array.from({ length: fileCount }, (_, file) => ({
    length: 1,
    attributes: { [PART]: file, __kIMFileTransferGUIDAttributeName: `at_${file}_${guid}` },
  }));
  const length = text.length - fileCount;
  if (length === 0) return files;
  const attributes = { [PART]: fileCount };
  if (mentioned === undefined || length < 2) return [...files, { length, attributes }];
  const mention = { ...attributes, __kIMMentionConfirmedMention: mentioned };
  return [...files, { length: 1, attributes: mention }, { length: length - 1, attributes }];
}

// The exports of this folder for features. Everything else may change without them.

export { decodable } from './added-columns.ts';
export { attachmentContentsOf } from './attachment-details.ts';
export { AttachmentFiles, readStagedFoldersInUse } from './attachment-files.ts';
export { textBytes } from './body-sql.ts';
export type { ChatDbHandle } from './chatdb-handle.ts';
export {
  ATTACHMENT_COLUMNS,
  columnList,
  compareInstants,
  DETAIL_COLUMNS,
  ENTRY_COLUMNS,
  INT_PARAM,
  instantAt,
  MAX_SECONDS,
  MESSAGE_COLUMNS,
  TEXT_PARAM,
  toText,
  toUnixMs,
} from './columns.ts';
export { Connection } from './connection.ts';
export { PlistDate, readBinaryPlist } from './content/binary-plist.ts';
export { readKeyedArchive } from './content/keyed-archive.ts';
export {
  dictionaryIn,
  dictionaryOf,
  distinct,
  isList,
  isoAtSeconds,
  lastOfColons,
  listIn,
  numberIn,
  parseJson,
  present,
  textIn,
} from './content/members.ts';
export { onlyLinkOf } from './content/parts.ts';
export { RowBudget, type StoredBlob } from './content/row-budget.ts';
export { currentReactions } from './current-reactions.ts';
export type {
  AddedToRow,
  DecodedText,
  Decoder,
  FileContents,
  FileDecoder,
  RowDecoder,
  RunDecoder,
} from './decoder.ts';
export { Fingerprints, printSql, printsWith } from './fingerprints.ts';
export { chatDbNames, MessagesDirectory } from './lookups.ts';
export { messageOf, toMessage, toMessageWithFiles } from './message.ts';
export { withDetails } from './message-details.ts';
export {
  behindCursor,
  EVERYTHING,
  type List,
  type ListedRow,
  type ListedRows,
  listedRows,
  secondAt,
} from './message-list.ts';
export { readLogIdentity, toRowEntry } from './message-log.ts';
export { ownNumber } from './owner.ts';
export { type PastEvents, pastEvents } from './past-events.ts';
export { column, isListed, isNotHidden, messageParts, reactionParts } from './queries.ts';
export { ReactedTo } from './reacted-to.ts';
export { reactionDetailsOf } from './reaction-details.ts';
export { reactionTargets } from './reaction-target.ts';
export { damageSentence } from './read-around.ts';
export { readOnce } from './read-once.ts';
export { anyChat, listedChat } from './row-chat.ts';
export { rowContentOf } from './row-content.ts';
export { hasContent, isMessage, isPartOfPoll, isPollUpdate, isScheduled, VOTE_TYPE } from './row-kinds.ts';
export { perSchema, type SchemaInfo } from './schema-info.ts';
export { MAX_LARGE_BYTES, type Snapshot } from './snapshot.ts';
export type { StoredAttachment } from './stored-attachments.ts';
export { isCorrupt } from './temporary-tables.ts';

import type { AddedContent, AddedToFile, AddedToRun, ContentColumn } from '../model/content.ts';
import type { AttachmentDetails, MessageKind } from '../model/details.ts';
import type { Message } from '../model/message.ts';
import type { Reaction } from '../model/reaction.ts';
import type { Notes } from '../model/sentence.ts';
import type { SqlValue } from '../runtime/sqlite.ts';
import type { AttributedText } from './content/attributed-runs.ts';
import type { RowBudget, StoredBlob } from './content/row-budget.ts';
import type { TypedDictionary } from './content/typed-value.ts';
import type { Columns } from './schema-info.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * The values of columns; null where this macOS lacks one. A column with encoded content is a function, because reading
 * it spends from the bytes that one read may decode.
 */
export type ColumnValues<Named extends Columns> = {
  readonly [Name in keyof Named]: Named[Name] extends ContentColumn ? () => StoredBlob : SqlValue;
};

/** A row whose text is decoded. */
export interface DecodedText {
  readonly guid: string;
  /** The row's text as the API shows it. */
  readonly text: string;
  /** The decoded attributedBody; undefined if there is none, or if it is unreadable. */
  readonly body: AttributedText | undefined;
  /** The kind by the row's balloon. */
  readonly kind: MessageKind;
  readonly balloon: string;
  /** Guid of the message to which the row refers, such as a vote's poll; "" for none. */
  readonly associatedGuid: string;
  readonly isVote: boolean;
}

export interface AddedToRow {
  /** The kind of the row, if the content decides it. */
  readonly kind?: MessageKind | 'poll_vote' | undefined;
  readonly content: AddedContent;
}

/** Decodes members of a row's content. Never throws because of what the row contains. */
export interface RowDecoder<Named extends Columns> {
  /** Columns of the table `message`. A row with a value in one of them has content besides its text. */
  readonly columns: Named;
  read(row: DecodedText, columns: ColumnValues<Named>, reading: RowReading): AddedToRow;
}

/** The budget for decoding a row, and its place in chat.db, if more rows are needed. */
export interface RowReading {
  readonly budget: RowBudget;
  readonly place?: { readonly snapshot: Snapshot; readonly row: Message | Reaction };
}

/** Decodes members of an attachment. Never throws because of what the attachment contains. */
export interface FileDecoder<Named extends Columns> {
  /** Columns of the table `attachment`. */
  readonly columns: Named;
  read(file: AttachmentDetails, columns: ColumnValues<Named>, reading: FileReading): FileContents;
}

/** The members that a decoder adds to an attachment, and the transcript of a voice message. */
export type FileContents = AddedToFile & Pick<AttachmentDetails, 'transcript'>;

export interface FileReading {
  readonly budget: RowBudget;
  /** Returns the beginning of the file, of at most this many bytes; undefined if it cannot be read here. */
  readonly beginning: (bytes: number) => Buffer | undefined;
}

/** Returns a function that decodes the members of a row's runs. */
export type RunDecoder = (budget: RowBudget) => (attributes: TypedDictionary) => AddedToRun | undefined;

/** Decodes a feature's content of a row, in the thread that reads chat.db, and puts it into sentences. */
export interface Decoder extends Notes {
  readonly row?: {
    readonly columns: Columns;
    read(row: DecodedText, columns: never, reading: RowReading): AddedToRow;
  };
  readonly file?: {
    readonly columns: Columns;
    read(file: AttachmentDetails, columns: never, reading: FileReading): FileContents;
  };
  readonly run?: RunDecoder;
}

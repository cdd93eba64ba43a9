import type { Conversation } from '../../domain/conversation.ts';
import type { Mistake } from '../../domain/errors.ts';
import type { Include } from '../../domain/include.ts';
import type { Message } from '../../domain/message.ts';
import type { ConvertedForm, Page } from '../../domain/ports/reading.ts';
import type { StatusReport } from '../../domain/status.ts';
import { AWAY_MS, type FleetOperation } from './layout.ts';

/** Ids here are those of the Mac itself, unqualified. */
export interface ReadRequests {
  readonly listMessages: {
    readonly conversationId?: string | undefined;
    readonly conversationIds?: readonly string[] | undefined;
    /** Nanoseconds since the Unix epoch, as decimal digits: JSON has no such numbers. */
    readonly sinceNs?: string | undefined;
    readonly beforeNs?: string | undefined;
    readonly order: 'asc' | 'desc';
    readonly limit: number;
    readonly offset: number;
    readonly cursor?: string | undefined;
    readonly include?: readonly Include[] | undefined;
  };
  readonly message: { readonly id: string; readonly include?: readonly Include[] | undefined };
  readonly listConversations: {
    readonly limit: number;
    readonly offset: number;
    readonly include?: readonly Include[] | undefined;
  };
  readonly conversation: { readonly id: string; readonly include?: readonly Include[] | undefined };
  /** One chunk: the reader asks for the next when it has room, so a slow one holds up nobody. */
  readonly attachment: {
    readonly id: string;
    readonly n: number;
    readonly form?: ConvertedForm | undefined;
    /** First byte of the chunk. */
    readonly at: number;
    /** At most `CHUNK_BYTES`; 0 asks for what is known of the file alone. */
    readonly bytes: number;
  };
  readonly attachmentMistakes: { readonly paths: readonly string[] };
  readonly status: Readonly<Record<string, never>>;
  /** Whether this Mac has sent, or tried to send, something with this Idempotency-Key. */
  readonly knowsKey: { readonly key: string };
  /** Events that the stream lacks: of the rows between these two, the first ones. */
  readonly events: { readonly epoch: string; readonly after: number; readonly before: number };
}

/** An event as the stream would hold it. */
export interface RowEvent {
  readonly row: number;
  readonly guid: string;
  readonly type: string;
  readonly json: string;
}

export interface AttachmentChunk {
  readonly name: string;
  readonly mimeType: string | null;
  /** Of the whole file. */
  readonly bytes: number;
  /** Another one when the file was changed meanwhile: then the chunks do not belong together. */
  readonly version: string;
  /** In base64. */
  readonly data: string;
}

/** `null`: there is no such thing. */
export interface ReadResults {
  readonly listMessages: Page<Message>;
  readonly message: Message | null;
  readonly listConversations: Page<Conversation>;
  readonly conversation: Conversation | null;
  readonly attachment: AttachmentChunk | null;
  readonly attachmentMistakes: readonly Mistake[];
  readonly status: StatusReport;
  readonly knowsKey: boolean;
  /** `null`: the epoch is over. None: there are no more. */
  readonly events: readonly RowEvent[] | null;
}

/** How long the asker waits: a conversion of a film takes a while. */
export function timeoutOf(operation: FleetOperation): number {
  return operation === 'attachment' ? AWAY_MS : AWAY_MS / 3;
}

import * as z from 'zod';
import { conversationSchema } from '../../../core/schema/conversation-schema.ts';
import { messageSchema } from '../../../core/schema/message-schema.ts';

// The requests that hubs may send to a Mac, and the answers that hubs accept. Both are checked, because the other side
// may run another version of Postern, or be another program. Ids are unqualified: those that the Mac itself uses.

const MAX_TEXT = 4096;
/** Maximum number of bytes of an attachment in one answer. */
export const CHUNK_BYTES = 128 * 1024;

const text = z
  .string()
  .max(MAX_TEXT)
  .refine((value) => !value.includes('\0'));
const whole = z.int().min(0);
// Accepts any text. A newer hub may send names that this Mac does not know; the Mac ignores them.
const include = z.array(text).max(100).readonly().optional();
const limit = z.int().min(1).max(200);
/** Nanoseconds since the Unix epoch in decimal digits, because a JSON number would lose the last digits. */
const nanoseconds = z
  .string()
  .regex(/^-?\d{1,25}$/)
  .transform(BigInt)
  .optional();
const form = z.union([
  z.object({ as: z.literal('m4a') }),
  z
    .object({ as: z.literal('jpeg'), max: z.int().min(1).max(10_000).optional() })
    .transform(({ as, max }) => ({ as, max })),
]);

/** An event as published to the fleet's stream. In an epoch of changes, `row` is the number of the change. */
const rowEvent = z.object({
  row: z.int().min(1),
  guid: z.string(),
  type: z.string().regex(/^[a-z.]{1,40}$/),
  json: z.string(),
});
export type RowEvent = z.output<typeof rowEvent>;

const chunk = z.object({
  name: z.string(),
  mimeType: z.string().nullable(),
  /** Size of the whole file in bytes. */
  bytes: whole,
  /** Identifies the current content of the file, so that a hub never mixes chunks of two versions. */
  version: z.string().regex(/^[\w-]{1,100}$/),
  /** In base64. */
  data: z.string(),
});
export type AttachmentChunk = z.output<typeof chunk>;

/** The operations that a Mac performs for hubs. It performs no others. */
export const FLEET_READS = {
  listMessages: {
    request: z.object({
      conversationId: text.optional(),
      sinceNs: nanoseconds,
      beforeNs: nanoseconds,
      order: z.enum(['asc', 'desc']),
      limit,
      offset: whole,
      cursor: text.optional(),
      include,
    }),
    answer: z.object({ items: z.array(messageSchema), next: z.string().optional() }),
  },
  /** Reads one message. The answer is null if it does not exist. */
  message: { request: z.object({ id: text, include }), answer: messageSchema.nullable() },
  listConversations: {
    request: z.object({ limit, offset: whole, include }),
    answer: z.object({ items: z.array(conversationSchema) }),
  },
  conversation: { request: z.object({ id: text, include }), answer: conversationSchema.nullable() },
  /**
   * Reads one chunk of an attachment, at most `bytes` from the position `at`. Files are sent in chunks, so that a slow
   * reader does not hold up others. With `bytes: 0` the answer has all members, but no data.
   */
  attachment: {
    request: z.object({
      id: text,
      n: z.int().min(0).max(9999),
      form: form.optional(),
      at: whole,
      bytes: whole.max(CHUNK_BYTES),
    }),
    answer: chunk.nullable(),
  },
  /** Checks paths of attachments on the Mac's disk. The answer is the mistakes found. */
  attachmentMistakes: {
    request: z.object({ paths: z.array(text).max(10).readonly() }),
    answer: z.array(z.object({ pointer: z.string(), message: z.string() })),
  },
  /** Reports whether this Mac has sent, or tried to send, something with this Idempotency-Key. */
  knowsKey: { request: z.object({ key: text }), answer: z.boolean() },
  /**
   * Reads the first events of an epoch between the rows `after` and `before`, both exclusive. The answer is empty if
   * there are no such events. It is null if the epoch has ended, or if the change log no longer reaches back to
   * `after`.
   */
  events: {
    request: z.object({ epoch: text, after: whole, before: z.int().min(1) }),
    answer: z.array(rowEvent).nullable(),
  },
} as const;

export type FleetOperation = keyof typeof FLEET_READS;
export type FleetRequest<Name extends FleetOperation> = z.input<(typeof FLEET_READS)[Name]['request']>;
/** A request that has passed its check. */
export type CheckedRead<Name extends FleetOperation> = z.output<(typeof FLEET_READS)[Name]['request']>;
export type FleetAnswer<Name extends FleetOperation> = z.output<(typeof FLEET_READS)[Name]['answer']>;

export const sendAnswer = z.object({ confirmed: z.boolean(), message: messageSchema, replayed: z.boolean() });

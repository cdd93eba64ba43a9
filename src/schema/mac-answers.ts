import * as z from 'zod';
import { conversationSchema } from './conversation-schema.ts';
import { messageSchema } from './message-schema.ts';

// Answers that a hub accepts from a Mac, which may run another version of Postern, or be no Mac at all.

export const messageAnswer = messageSchema.nullable();
export const messagesAnswer = z.object({ items: z.array(messageSchema), next: z.string().optional() });
export const conversationAnswer = conversationSchema.nullable();
export const conversationsAnswer = z.object({ items: z.array(conversationSchema), next: z.string().optional() });

export const attachmentAnswer = z
  .object({
    name: z.string(),
    mimeType: z.string().nullable(),
    bytes: z.int().min(0),
    version: z.string().regex(/^[\w-]{1,100}$/),
    data: z.string(),
  })
  .nullable();

export const knowsKeyAnswer = z.boolean();

export const attachmentMistakesAnswer = z.array(z.object({ pointer: z.string(), message: z.string() }));

/** Events that the stream lacks, each as JSON that is parsed like the stream's. */
export const eventsAnswer = z
  .array(
    z.object({
      row: z.int().min(1),
      guid: z.string(),
      type: z.string().regex(/^[a-z.]{1,40}$/),
      json: z.string(),
    }),
  )
  .nullable();

export const sendAnswer = z.object({ confirmed: z.boolean(), message: messageSchema, replayed: z.boolean() });

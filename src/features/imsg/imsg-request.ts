import * as z from 'zod';

// The parameters of imsg's JSON-RPC methods (decision Y1). Unknown members are mistakes, as in imsg itself.

const flag = z.boolean();
const chatNumber = z.int().min(1);
const time = z
  .string()
  .refine((text) => /^(?!0000)\d{4}-/.test(text) && !Number.isNaN(Date.parse(text)), 'must be an ISO 8601 time');
const handles = z.array(z.string().max(512)).max(1000);
const text = z.string().max(100_000);

const attachmentMembers = { attachments: flag.optional(), convert_attachments: flag.optional() };
const windowMembers = { participants: handles.optional(), start: time.optional(), end: time.optional() };

export const imsgParams = {
  initialize: z.strictObject({ protocol_version: z.literal(1).optional() }),
  status: z.strictObject({}),
  'chats.list': z.strictObject({
    limit: z.int().min(1).optional(),
    unread_only: flag.optional(),
    unreadOnly: flag.optional(),
  }),
  'messages.history': z.strictObject({
    chat_id: chatNumber,
    limit: z.int().min(1).optional(),
    ...windowMembers,
    ...attachmentMembers,
  }),
  'watch.subscribe': z.strictObject({
    chat_id: chatNumber.optional(),
    since_rowid: z.int().min(-1).optional(),
    include_reactions: flag.optional(),
    debounce_ms: z.number().optional(),
    debounceMs: z.number().optional(),
    buffer_limit: z.int().optional(),
    bufferLimit: z.int().optional(),
    ...windowMembers,
    ...attachmentMembers,
  }),
  'watch.unsubscribe': z.strictObject({ subscription: z.int() }),
  send: z.strictObject({
    to: text.optional(),
    chat_id: chatNumber.optional(),
    chat_guid: text.optional(),
    chat_identifier: text.optional(),
    text: text.optional(),
    file: text.optional(),
    service: z.enum(['auto', 'imessage', 'sms']).optional(),
    transport: z.enum(['auto', 'applescript', 'bridge']).optional(),
    region: z.string().max(100).optional(),
    allow_sms_fallback: flag.optional(),
    allowSMSFallback: flag.optional(),
    reply_to: text.nullable().optional(),
    replyTo: text.nullable().optional(),
    reply_to_guid: text.nullable().optional(),
    message_guid: text.nullable().optional(),
    text_formatting: z.array(z.unknown()).optional(),
    textFormatting: z.array(z.unknown()).optional(),
    formatting: z.array(z.unknown()).optional(),
  }),
} as const;

export type ImsgMethod = keyof typeof imsgParams;
export type ImsgParams<Method extends ImsgMethod> = z.output<(typeof imsgParams)[Method]>;

/** Parses the parameters of a method. If they are invalid, returns a sentence that names every mistake. */
export function readImsgParams<Method extends ImsgMethod>(
  method: Method,
  params: unknown,
): { readonly ok: true; readonly params: ImsgParams<Method> } | { readonly ok: false; readonly mistakes: string } {
  const read = imsgParams[method].safeParse(params);
  if (read.success) return { ok: true, params: read.data as ImsgParams<Method> };
  const known = quoted(Object.keys(imsgParams[method].shape));
  const mistakes = read.error.issues.slice(0, MAX_MISTAKES).map((issue) => {
    if (issue.code !== 'unrecognized_keys') return `${issue.path.join('.') || 'params'}: ${issue.message}`;
    const names = issue.keys.slice(0, MAX_MISTAKES).map((name) => name.slice(0, MAX_NAME));
    return `${quoted(names)} ${names.length > 1 ? 'are' : 'is'} not understood; ${method} understands ${known || 'no parameters'}`;
  });
  return { ok: false, mistakes: `${mistakes.join('; ')}.` };
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

const MAX_MISTAKES = 20;
const MAX_NAME = 60;

import * as z from 'zod';
import { HOUR_MS } from '../../model/durations.ts';
import { invalidRequest } from '../../model/problems.ts';
import { MAX_ATTACHMENTS } from '../../model/upload.ts';
import { includeParameter } from '../../schema/include-parameter.ts';
import { parseInstant } from '../../schema/instant.ts';
import { narrowingParameters } from '../../schema/narrowing-parameters.ts';
import { limit, offset, order, since } from '../../schema/query-parameters.ts';
import { SEND_CHOICES } from '../../schema/send-choices.ts';
import { list, NOT_AN_OBJECT, text } from '../../schema/text.ts';

/** Parameters of `GET /messages` (decisions B9, B10). */
export const messageQuery = z.object({
  conversation_id: z.string().optional().meta({ description: 'Chat guid, in any variant, or an address.' }),
  since: since.optional(),
  order,
  limit: limit(50, 200),
  offset,
  cursor: z.string().optional().meta({ description: 'From a `Link` header; replaces `offset`.' }),
  include: includeParameter,
  junk: narrowingParameters.junk,
  include_hidden: narrowingParameters.include_hidden,
});

/** Parameters of `GET /messages/{id}` (decision H). */
export const singleMessageQuery = z.object({ include: includeParameter });

/** Maximum number of characters in the body of a send (decision D7). */
export const MAX_BODY = 20_000;

/** An item of `attachments`. Checks only what can be checked without reading the disk. */
export const attachmentPath = text('An attachment').refine(
  (path) => path.startsWith('/'),
  'An attachment must be an absolute path.',
);

/**
 * Returns the schema of a member that is a time with its zone. The parsed value is in Unix milliseconds. A date alone
 * is refused.
 */
function moment(name: string) {
  const error = `\`${name}\` must be a time with its zone, as in 2026-01-31T09:30:00Z or 2026-01-31T09:30:00+02:00.`;
  return z.string({ error }).transform((text, context) => {
    const instant = text.includes('T') ? parseInstant(text) : undefined;
    if (instant !== undefined) return Number(instant / 1_000_000n);
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

/** The formats in which `body` of a send may be written (decision X2). */
const FORMATS = ['plain', 'markdown'] as const;

const SEND_MEMBERS = {
  recipient: text('`recipient`', 512)
    .refine((value) => value.trim() !== '', '`recipient` must not be blank.')
    // `text` already reports NUL.
    .refine((value) => !/[^\P{Cc}\0]/u.test(value), '`recipient` must not contain control characters.')
    .meta({ description: 'Phone number, e-mail address, chat guid, or anything else that Messages accepts.' }),
  body: text('`body`', MAX_BODY).meta({ description: 'May be empty if attachments are sent.' }),
  attachments: list('`attachments`', attachmentPath, MAX_ATTACHMENTS)
    .optional()
    .meta({ description: 'Absolute paths of files on the host.' }),
  attachment_ids: list('`attachment_ids`', text('An attachment id', 100), MAX_ATTACHMENTS)
    .optional()
    .meta({ description: 'Ids of files uploaded with the same key, which are sent after the attachments.' }),
  format: z
    .enum(FORMATS, { error: '`format` must be "plain" or "markdown".' })
    .optional()
    .meta({ description: '`markdown` is rendered to plain text before it is sent. Default: `plain`.' }),
  ...SEND_CHOICES,
  send_at: moment('send_at').optional().meta({
    description: 'When to send the message, at most a year ahead. The answer is 202 with the scheduled message.',
  }),
  send_until: moment('send_until')
    .optional()
    .meta({ description: 'The message is not sent after this time. Default: an hour after `send_at`.' }),
  dry_run: z
    .boolean({ error: '`dry_run` must be true or false.' })
    .optional()
    .meta({ description: 'Only reports what would happen: nothing is sent.' }),
};
const NOTHING = 'There is nothing to send: `body` is empty and there are no attachments.';
// Runs a check even if others have failed, so that every mistake is named at once.
const when = ({ value }: { readonly value: unknown }): boolean => isSendLike(value);
const NOTHING_TO_SEND = { path: ['body'], error: NOTHING, when };
const NO_TIME = { path: ['send_until'], error: '`send_until` needs `send_at`.', when };
const NO_FALLBACK = {
  path: ['fallback'],
  error: '`fallback` is possible only if `service` is auto or imessage.',
  when,
};

/** Body of `POST /messages` (decision D7). The sender checks attachments on disk. */
export const sendBody = z
  .object(SEND_MEMBERS, NOT_AN_OBJECT)
  .refine(hasContent, NOTHING_TO_SEND)
  .refine(mayFallBack, NO_FALLBACK)
  .refine(hasTime, NO_TIME)
  .meta({ id: 'SendRequest' });

/** The body of `POST /messages` after its check. */
export type Send = z.output<typeof sendBody>;

/**
 * Returns the send with its final text and times: renders Markdown before the text is hashed, shown or sent
 * (decision X2), and fills in `sendUntilMs`. Throws `invalid_request` if nothing is left to send.
 */
export async function rendered<Asked extends Send>({ format, send_at: at, send_until: until, ...send }: Asked) {
  const times = at === undefined ? {} : { sendAtMs: at, sendUntilMs: until ?? at + HOUR_MS };
  if (format !== 'markdown') return { ...send, ...times };
  const { plainText } = await import('./plain-text.ts');
  const body = plainText(send.body);
  if (hasContent({ ...send, body })) return { ...send, ...times, body };
  throw invalidRequest([{ pointer: '/body', message: NOTHING }]);
}

function hasContent({
  body,
  attachments = [],
  attachment_ids = [],
}: z.output<z.ZodObject<typeof SEND_MEMBERS>>): boolean {
  return body !== '' || attachments.length + attachment_ids.length > 0;
}

function mayFallBack({ service, fallback }: z.output<z.ZodObject<typeof SEND_MEMBERS>>): boolean {
  return fallback === undefined || service === undefined || service === 'auto' || service === 'imessage';
}

function hasTime({
  send_at: at,
  send_until: until,
}: {
  readonly send_at?: unknown;
  readonly send_until?: unknown;
}): boolean {
  return until === undefined || at !== undefined;
}

function isSendLike(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { attachments = [] } = value as { readonly attachments?: unknown };
  return Array.isArray(attachments);
}

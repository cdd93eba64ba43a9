import * as z from 'zod';
import { dayStartMs } from '../../../core/model/day-start.ts';
import { NS_PER_MS } from '../../../core/model/durations.ts';
import { includeSet } from '../../../core/model/include.ts';
import type { Message } from '../../../core/model/message.ts';
import type { MessageQuery } from '../../../core/model/ports/reading-ports.ts';
import { invalidRequest, problem } from '../../../core/model/problems.ts';
import { withoutJunk } from '../../../core/model/without-junk.ts';
import { parseInstant } from '../../../core/schema/instant.ts';
import { listed } from '../../../core/tools/fence.ts';
import {
  conversationId,
  itemLimit,
  messageId,
  type ToolAnswer,
  type ToolContext,
  textOutput,
  tool,
} from '../../../core/tools/tool.ts';
import { beginning, indented, visibleJson } from '../../../core/tools/visible.ts';
import { Labels } from '../text/labels.ts';
import { DayLines, type LineContext, MAX_SHOWN_BODY } from '../text/lines.ts';
import { cursorText, invalidCursor, readToolCursor } from '../tool-cursor.ts';
import { fittingPage } from './fitting-page.ts';
import { groupNames } from './group-names.ts';
import { countNote, junk, junkNote } from './junk.ts';

/** Maximum length of the text when one message is read, in UTF-16 units. */
const MAX_PART = 12_000;
export const WITH_DETAILS = includeSet(['details']);

export const messagesRead = tool({
  name: 'messages_read',
  title: 'Read messages',
  description:
    'Messages of one conversation, or of all: the newest ones, or those from `since` on. Oldest first, as [id] time sender: text. Notes on a message follow below it, on a line that begins with +.',
  scope: 'read',
  input: z.object({
    conversation_id: conversationId.optional(),
    since: z.string().max(64).optional().describe('ISO 8601 time or date'),
    before: z.string().max(64).optional(),
    limit: itemLimit(20, 100),
    cursor: z.string().max(2000).optional().describe('`next` from the previous answer'),
    junk,
    format: z.enum(['text', 'json']).default('text'),
    message_id: messageId.optional().describe('one message, whole'),
    skip: z.int().min(0).default(0).describe('characters of that message to skip'),
  }),
  output: textOutput,
  async run(input, context) {
    if (input.message_id !== undefined) return whole(input.message_id, input, context);
    const query = input.cursor === undefined ? queryOf(input, context.time.zone) : queryBehind(input.cursor);
    const conversation =
      query.conversationId === undefined ? undefined : await context.caller.reader.conversation(query.conversationId);
    if (query.conversationId !== undefined && conversation === undefined) throw problem('conversation_not_found');
    const { items, next, lines, leftOut } = await fittingPage(
      input.limit,
      (limit) => context.caller.reader.listMessages({ ...query, offset: 0, limit, include: WITH_DETAILS }),
      (page) => {
        const oldestFirst = query.order === 'desc' ? page.toReversed() : page;
        return input.format === 'json' ? jsonLines(oldestFirst) : messageLines(oldestFirst, conversation?.id, context);
      },
      (page) => (input.junk ? page : withoutJunk(page, (message) => message, context.caller)),
    );
    const cursor = next === undefined ? undefined : nextOf(query, next);
    const others = query.order === 'desc' ? 'older' : 'newer';
    const more = cursor && `There are ${others} messages: call again with cursor = ${cursor}`;
    const sentences = [countNote(items.length, 'message'), more, junkNote(leftOut, 'message')];
    return { text: listed(sentences, lines, context.nonce), next: cursor };
  },
});

type Query = Pick<MessageQuery, 'conversationId' | 'sinceNs' | 'beforeNs' | 'order' | 'cursor'>;

interface Asked {
  readonly conversation_id?: string | undefined;
  readonly since?: string | undefined;
  readonly before?: string | undefined;
}

function queryOf({ conversation_id: id, since, before }: Asked, timeZone: string): Query {
  const sinceNs = instant('since', since, timeZone);
  return {
    conversationId: id,
    // The reader's `sinceNs` excludes its instant.
    sinceNs: sinceNs === undefined ? undefined : sinceNs - 1n,
    beforeNs: instant('before', before, timeZone),
    order: since === undefined ? 'desc' : 'asc',
  };
}

/** Parses a time with its zone, or a date, which begins in the zone in which the tools show times. */
function instant(name: string, text: string | undefined, timeZone: string): bigint | undefined {
  if (text === undefined) return undefined;
  const found = parseInstant(text);
  if (found !== undefined) return /t/i.test(text) ? found : BigInt(dayStartMs(text, timeZone)) * NS_PER_MS;
  const message = `\`${name}\` must be a date or a time with its zone, as in 2026-01-31 or 2026-01-31T09:30:00+02:00.`;
  throw invalidRequest([{ pointer: `/${name}`, message }]);
}

/** Returns a cursor that contains the whole query, so that a client needs nothing else to continue. */
function nextOf(query: Query, cursor: string): string {
  return cursorText({
    cursor,
    order: query.order,
    ...(query.conversationId !== undefined && { conversation: query.conversationId }),
    ...(query.sinceNs !== undefined && { since: String(query.sinceNs) }),
    ...(query.beforeNs !== undefined && { before: String(query.beforeNs) }),
  });
}

function queryBehind(text: string): Query {
  const { cursor, order, conversation, since, before } = readToolCursor(text);
  const isInstant = (value = '0'): boolean => /^-?\d{1,30}$/.test(value);
  const isOurs = cursor !== undefined && (order === 'asc' || order === 'desc') && isInstant(since) && isInstant(before);
  if (!isOurs) throw invalidCursor();
  return {
    cursor,
    order,
    conversationId: conversation,
    sinceNs: since === undefined ? undefined : BigInt(since),
    beforeNs: before === undefined ? undefined : BigInt(before),
  };
}

/** Adds details to messages that were read without them. Leaves a message as it is if its row no longer exists. */
export async function detailed(messages: readonly Message[], context: ToolContext): Promise<readonly Message[]> {
  const read = await messagesWithDetails(
    messages.map(({ id }) => id),
    context,
  );
  return messages.map((message) => withDetailsOf(message, read.get(message.id)));
}

/** Returns `message` with the details of `read`, if there are any. */
export function withDetailsOf(message: Message, read: Message | undefined): Message {
  return read?.details === undefined ? message : { ...message, details: read.details };
}

/**
 * Returns the messages with these ids, each with its details. Key: the id. Omits messages whose rows no longer exist.
 */
export async function messagesWithDetails(
  ids: readonly string[],
  { caller }: Pick<ToolContext, 'caller'>,
): Promise<ReadonlyMap<string, Message>> {
  const read = await Promise.all(
    [...new Set(ids)].map(async (id) => caller.reader.message(id, { include: WITH_DETAILS })),
  );
  return new Map(read.flatMap((message) => (message === undefined ? [] : [[message.id, message]])));
}

/**
 * Returns the messages as lines. Each line names its message's conversation, unless the conversation is
 * `conversationId`.
 */
export async function messageLines(
  messages: readonly Message[],
  conversationId: string | undefined,
  { caller, names, time }: ToolContext,
  { maxBody }: Pick<LineContext, 'maxBody'> = {},
): Promise<string> {
  const groupName = await groupNames(messages, caller.reader);
  const lines = new DayLines({ labels: new Labels(await names()), time, groupName, conversationId, maxBody });
  for (const message of messages) lines.message(message);
  return lines.text;
}

/** Returns one JSON object per line. */
async function jsonLines(messages: readonly Message[], maxBody = MAX_SHOWN_BODY): Promise<string> {
  return messages
    .map((message) => {
      const body = beginning(message.body, maxBody);
      const attachments = message.attachments.map((path) => path.slice(path.lastIndexOf('/') + 1));
      // File paths on the Mac are of no use elsewhere.
      const files = message.details?.attachments.map(({ path: _, ...file }) => file);
      const details = message.details && { ...message.details, attachments: files };
      const isCut = body !== message.body;
      return visibleJson({
        ...message,
        body,
        attachments,
        ...(details && { details }),
        ...(isCut && { is_cut: true }),
      });
    })
    .join('\n');
}

interface Part {
  readonly skip: number;
  readonly format: 'text' | 'json';
}

/**
 * Returns one message, formatted as in a list of messages. Omits the first `skip` UTF-16 units of its text, and shows
 * at most `MAX_PART` of the rest.
 */
async function whole(id: string, { skip, format }: Part, context: ToolContext): Promise<ToolAnswer> {
  const message = await context.caller.reader.message(id, { include: WITH_DETAILS });
  if (message === undefined) throw problem('message_not_found');
  const rest = message.body.slice(skip);
  let part = beginning(rest, MAX_PART);
  while (indented(part).length > MAX_PART) part = beginning(part, Math.floor(part.length / 2));
  const left = rest.length - part.length;
  const more = left === 0 ? undefined : `${left} more characters: call again with skip = ${skip + part.length}.`;
  const shown = { ...withoutSentence(message), body: part };
  const lines =
    format === 'json'
      ? await jsonLines([shown], MAX_PART)
      : await messageLines([shown], undefined, context, { maxBody: MAX_PART });
  return { text: listed([more], lines, context.nonce) };
}

/**
 * Removes `details.sentence`, Postern's description, from a message that has a text. A list of messages shows the
 * description instead of a text such as a link, but a client that reads one message needs the text.
 */
function withoutSentence(message: Message): Message {
  const { body, details } = message;
  return body === '' || details === undefined ? message : { ...message, details: { ...details, sentence: undefined } };
}

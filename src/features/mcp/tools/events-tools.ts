import { setImmediate as nextTurn } from 'node:timers/promises';
import * as z from 'zod';
import { AppError } from '../../../core/model/errors.ts';
import { type Event, isRowEntry, type RowEntry } from '../../../core/model/event.ts';
import { type Narrowing, skippedAs } from '../../../core/model/narrowing.ts';
import { type ClientOffset, decodeOffset, type Offset } from '../../../core/model/offset.ts';
import type { FeedReader } from '../../../core/model/ports/feed-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import { listed } from '../../../core/tools/fence.ts';
import {
  conversationId,
  itemLimit,
  type ToolAnswer,
  type ToolContext,
  textOutput,
  tool,
} from '../../../core/tools/tool.ts';
import { timeout, Wait } from '../../../core/tools/wait.ts';
import { forAgents } from '../subscriptions/subscription.ts';
import { Labels } from '../text/labels.ts';
import { DayLines, MAX_ANSWER } from '../text/lines.ts';
import { invalidCursor } from '../tool-cursor.ts';
import { groupNames } from './group-names.ts';
import { countNote, junk, junkNote } from './junk.ts';
import { messagesWithDetails, WITH_DETAILS, withDetailsOf } from './messages-read.ts';

/** Maximum number of entries to read before other requests get a turn. Reading them takes a few milliseconds. */
const BATCH_SIZE = 200;
/**
 * Maximum number of rows that one call examines. The answer may omit most of these rows, because they belong to other
 * conversations, are late or are junk.
 */
const MAX_ROWS = 5000;
/** Length that an answer keeps free for one more line, in UTF-16 units. */
const MAX_LINE = 2500;

const after = z.string().max(200).optional().describe('`next` from the previous answer; if omitted, only new events');

const late = z
  .boolean()
  .default(false)
  .describe('true: include messages that came more than 30 min after they were written');

export const eventsPoll = tool({
  name: 'events_poll',
  title: 'Poll events',
  description: 'Returns messages and reactions, received and sent, that follow `after`. Does not wait.',
  scope: 'events',
  input: z.object({ after, limit: itemLimit(50, 200), late, junk }),
  output: textOutput,
  async run({ after: text, limit: wanted, ...shown }, context) {
    const events = await EventReader.open(text, { wanted, ...shown }, context);
    try {
      await events.read();
      return await events.answer();
    } finally {
      events.close();
    }
  },
});

export const eventsWait = tool({
  name: 'events_wait',
  title: 'Wait for events',
  description:
    'Waits at most `timeout_s` seconds for events after `after`. "Nothing new" is a normal answer: call again with after = next, so that nothing is missed.',
  scope: 'events',
  input: z.object({
    after,
    conversation_id: conversationId.optional(),
    timeout_s: timeout,
    late,
    junk,
  }),
  output: textOutput,
  async run({ after: text, conversation_id: id, timeout_s: seconds, ...shown }, context) {
    const conversation = id === undefined ? undefined : await context.caller.reader.conversation(id);
    if (id !== undefined && conversation === undefined) throw problem('conversation_not_found');
    const asked = { conversation: conversation?.id, wanted: BATCH_SIZE, ...shown };
    const events = await EventReader.open(text, asked, context);
    const wait = new Wait(seconds, context);
    try {
      while (!(await events.read()) && !wait.isOver) await Promise.race([events.more(), wait.over]);
      context.caller.assertAlive?.();
      return await events.answer();
    } finally {
      wait.end();
      events.close();
    }
  },
});

/** The events that a call asks for. */
interface Asked {
  readonly conversation?: string | undefined;
  readonly wanted: number;
  /**
   * True to include late messages: those that were more than `LATE_S` seconds old when they arrived. A message's age
   * counts only time in which chat.db was watched.
   */
  readonly late: boolean;
  /** True to include junk. */
  readonly junk: boolean;
}

/** Reads the events after an offset for one call. */
class EventReader {
  readonly #context: ToolContext;
  readonly #conversation: string | undefined;
  readonly #limit: number;
  readonly #reader: FeedReader;
  readonly #generation: number;
  readonly #entries: RowEntry[] = [];
  readonly #narrowing: Narrowing;
  readonly #skipped = { hidden: 0, late: 0, junk: 0 };
  #upTo: Offset;
  #wake: () => void = () => {};

  /** Opens a reader of the events after the offset that the text stands for; without a text, after the newest event. */
  static async open(text: string | undefined, asked: Asked, context: ToolContext): Promise<EventReader> {
    const offset = await context.caller.feed.resolve(text === undefined ? undefined : offsetOf(text));
    return new EventReader(offset, asked, context);
  }

  private constructor(offset: Offset, { conversation, wanted, ...shown }: Asked, context: ToolContext) {
    const { feed } = context.caller;
    this.#context = context;
    this.#conversation = conversation;
    this.#limit = wanted;
    this.#narrowing = forAgents(shown);
    this.#upTo = offset;
    this.#reader = feed.resume(offset, () => this.#wake());
    this.#generation = this.#reader.generation();
  }

  /** Takes available events. Returns true if there is something to answer with, or `MAX_ROWS` were examined. */
  async read(): Promise<boolean> {
    for (let rows = 0; rows < MAX_ROWS; rows += BATCH_SIZE) {
      if (rows > 0) await nextTurn();
      if (this.#reader.generation() !== this.#generation) throw replaced();
      const { entries, upTo } = this.#reader.take(Math.min(BATCH_SIZE, this.#limit - this.#entries.length));
      this.#upTo = upTo;
      this.#entries.push(...entries.filter(isRowEntry).filter((entry) => this.#isWanted(entry)));
      if (this.#entries.length >= this.#limit) return true;
      if (entries.length === 0 && this.#reader.isCaughtUp()) return this.#entries.length > 0;
    }
    return true;
  }

  /** Resolves once the feed has entries that this reader has not taken yet. */
  more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (!this.#reader.isCaughtUp()) resolve();
    });
  }

  async answer(): Promise<ToolAnswer> {
    if (this.#entries.length === 0) {
      return this.#answer(this.#reader.isCaughtUp() ? 'Nothing new.' : 'Nothing found so far; more events remain.');
    }
    const { caller, names, time } = this.#context;
    const events = await Promise.all(this.#entries.map((entry) => this.#withDetails(entry)));
    const rows = events.map(({ data }) => data);
    const groupName = await groupNames(rows, caller.reader);
    const labels = new Labels(await names());
    const lines = new DayLines({ labels, time, groupName, conversationId: this.#conversation });
    const ids = rows.map(shownMessageOf).filter((id) => id !== '');
    const read = await messagesWithDetails(ids, this.#context);
    let end = this.#upTo;
    let count = 0;
    for (const [index, entry] of this.#entries.entries()) {
      const { type, data } = events[index] ?? entry.event;
      const message = read.get(shownMessageOf(data));
      if ('body' in data) lines.message(withDetailsOf(data, message));
      else lines.reaction(data, type === 'reaction.removed', message?.details?.poll);
      count += 1;
      const isLast = index === this.#entries.length - 1;
      if (isLast || lines.length <= MAX_ANSWER - MAX_LINE) continue;
      end = entry.offset;
      break;
    }
    return this.#answer(countNote(count, 'event'), lines.text, end);
  }

  /** Adds details to a reaction of the type `other`: a vote, an added option or a message of an app. */
  async #withDetails(entry: RowEntry): Promise<Event> {
    const { event } = entry;
    if (!('message_guid' in event.data) || event.data.reaction_type !== 'other') return event;
    // Serialises with `caller.json`, which omits details that this caller may not see.
    return JSON.parse(await this.#context.caller.json(entry, WITH_DETAILS)) as Event;
  }

  #answer(count: string, lines = '', end = this.#upTo): ToolAnswer {
    const next = this.#context.caller.feed.offsetText(end, undefined);
    const sentences = [count, `To go on, call again with after = ${next}`, ...this.#notes()];
    return { text: listed(sentences, lines, this.#context.nonce), next };
  }

  #notes(): readonly (string | undefined)[] {
    const { late: count, junk: left } = this.#skipped;
    const what = count === 1 ? '1 event that came late was' : `${count} events that came late were`;
    const late = count === 0 ? undefined : `${what} left out; late=true shows them.`;
    return [late, junkNote(left, 'event')];
  }

  close(): void {
    this.#reader.close();
  }

  /** Reports whether the call shows an entry, and counts those of the conversation that it skips. */
  #isWanted(entry: RowEntry): boolean {
    const { conversation_id: id } = entry.event.data;
    if (this.#conversation !== undefined && id !== this.#conversation) return false;
    const skipped = skippedAs(this.#narrowing, entry.marks, this.#context.caller.key);
    if (skipped !== undefined) this.#skipped[skipped] += 1;
    return skipped === undefined;
  }
}

/**
 * Returns the id of the message whose details a line needs. For a message, returns its own id; for a vote, the id of
 * the poll. Returns "" for any other row.
 */
function shownMessageOf(row: Event['data']): string {
  if ('body' in row) return row.id;
  return row.details?.poll_vote === undefined ? '' : row.message_id;
}

function offsetOf(text: string): ClientOffset {
  const offset = decodeOffset(text);
  if (offset === undefined) throw invalidCursor();
  return offset;
}

function replaced(): AppError {
  return new AppError('after_unknown', 'The Messages database was replaced.', {
    status: 410,
    hint: 'Call again without "after" to begin with what happens from now on.',
  });
}

import type { Conversation } from '../../domain/conversation.ts';
import { type AppError, isAppError, type Mistake } from '../../domain/errors.ts';
import { idOfGuid, type QualifiedId } from '../../domain/fleet.ts';
import type { IncludeSet } from '../../domain/include.ts';
import type { Message } from '../../domain/message.ts';
import type { Clock } from '../../domain/ports/host.ts';
import type { MessageQuery, Page } from '../../domain/ports/reading.ts';
import { problem } from '../../domain/problems.ts';
import {
  attachmentAnswer,
  attachmentMistakesAnswer,
  conversationAnswer,
  conversationsAnswer,
  eventsAnswer,
  knowsKeyAnswer,
  messageAnswer,
  messagesAnswer,
} from '../../schema/mac-answers.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import type { FleetOperation } from '../protocol/layout.ts';
import { type AttachmentChunk, type ReadRequests, type RowEvent, timeoutOf } from '../protocol/reads.ts';
import { ask, UNANSWERED } from '../protocol/requests.ts';
import type { Macs } from './macs.ts';

interface Schema<Answer> {
  safeParse(answer: unknown): { readonly success: true; readonly data: Answer } | { readonly success: false };
}

export interface MacReadsParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly clock: Clock;
  readonly macs: Macs;
  /** The guid of a published row, for an id of a Mac that is away. */
  readonly guidOfRow: (mac: string, row: number) => string | undefined;
}

/** Limit for a Mac that left its last request unanswered. */
const SUSPECT_MS = 500;
/** Limit for a Mac that another one can stand in for. */
const PAIRED_MS = 3000;

/** A Mac to ask, and its own id for what is wanted. */
export interface ReadPlace {
  readonly mac: string;
  readonly id: string;
}

/**
 * Asks one Mac. Its answers are checked and have its own ids. Throws the problem that the Mac reports, `mac_away` at
 * once if nobody listens there, and `broker_away`.
 */
export class MacReads {
  readonly #parts: MacReadsParts;
  /** Macs that hang: until one answers, nobody waits for it for long. */
  readonly #suspects = new Set<string>();

  constructor(parts: MacReadsParts) {
    this.#parts = parts;
  }

  /** Reports whether the fleet has a Mac of this id. Throws while that is unknown. */
  isKnown(mac: string): boolean {
    this.#parts.macs.assertLoaded();
    return this.#parts.macs.macsOf(mac).length > 0;
  }

  /**
   * The Macs that can answer for an id, in the order in which they are asked. A row id is one Mac's own; while that is
   * away, the guid of its row finds the message at the other Mac of a pair.
   */
  placesOf({ mac, id }: QualifiedId): readonly ReadPlace[] {
    const { macs, guidOfRow } = this.#parts;
    const known = macs.macsOf(mac);
    if (!macs.nameOf(mac).isPair) return [{ mac, id }];
    const row = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined;
    const guid = row === undefined ? undefined : guidOfRow(mac, row);
    const present = known.filter((one) => !macs.isAway(one));
    const places = (present.length === 0 ? known : present).map((one) => one.mac);
    if (row === undefined) return places.map((place) => ({ mac: place, id }));
    const others = places.filter((place) => place !== mac);
    return [{ mac, id }, ...(guid === undefined ? [] : others.map((place) => ({ mac: place, id: idOfGuid(guid) })))];
  }

  /**
   * Asks one after the other until one has the answer. Throws if one of them could not be asked and the others do not
   * have it.
   */
  async first<Answer>(
    places: readonly ReadPlace[],
    ask: (place: ReadPlace) => Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    let failure: AppError | undefined;
    for (const place of places) {
      try {
        const answer = await ask(place);
        if (answer !== undefined) return answer;
      } catch (error) {
        if (!isAppError(error) || error.code === 'broker_away') throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  async messages(mac: string, query: MessageQuery): Promise<Page<Message>> {
    const { conversationId, sinceNs, beforeNs, order, limit, offset, cursor, include } = query;
    const page = await this.#ask(mac, 'listMessages', messagesAnswer, {
      conversationId,
      sinceNs: sinceNs?.toString(),
      beforeNs: beforeNs?.toString(),
      order,
      limit,
      offset,
      cursor,
      include: namesOf(include),
    });
    return pageOf(page);
  }

  async message(mac: string, id: string, include: IncludeSet | undefined): Promise<Message | undefined> {
    return (await this.#ask(mac, 'message', messageAnswer, { id, include: namesOf(include) })) ?? undefined;
  }

  async conversations(
    mac: string,
    query: Omit<ReadRequests['listConversations'], 'include'>,
    include: IncludeSet | undefined,
  ): Promise<Page<Conversation>> {
    const request = { ...query, include: namesOf(include) };
    return pageOf(await this.#ask(mac, 'listConversations', conversationsAnswer, request));
  }

  async conversation(mac: string, id: string, include?: IncludeSet): Promise<Conversation | undefined> {
    const request = { id, include: namesOf(include) };
    return (await this.#ask(mac, 'conversation', conversationAnswer, request)) ?? undefined;
  }

  async attachment(mac: string, request: ReadRequests['attachment']): Promise<AttachmentChunk | undefined> {
    return (await this.#ask(mac, 'attachment', attachmentAnswer, request)) ?? undefined;
  }

  /** The mistakes in paths of files on the Mac itself. */
  async attachmentMistakes(mac: string, paths: readonly string[]): Promise<readonly Mistake[]> {
    return this.#ask(mac, 'attachmentMistakes', attachmentMistakesAnswer, { paths });
  }

  /** Reports whether a Mac has used this Idempotency-Key for a send. */
  async knowsKey(mac: string, key: string): Promise<boolean> {
    return this.#ask(mac, 'knowsKey', knowsKeyAnswer, { key });
  }

  /** Returns undefined if the Mac has another database by now. */
  async events(mac: string, request: ReadRequests['events']): Promise<readonly RowEvent[] | undefined> {
    return (await this.#ask(mac, 'events', eventsAnswer, request)) ?? undefined;
  }

  async #ask<Name extends FleetOperation & keyof ReadRequests, Answer>(
    mac: string,
    operation: Name,
    schema: Schema<Answer>,
    request: ReadRequests[Name],
  ): Promise<Answer> {
    const { connection, envelope, clock } = this.#parts;
    const { macs } = this.#parts;
    const isQuick = macs.nameOf(mac).isPair && operation !== 'attachment';
    const limitMs = isQuick ? PAIRED_MS : timeoutOf(operation);
    const timeoutMs = this.#suspects.has(mac) ? SUSPECT_MS : limitMs;
    let answer: unknown;
    try {
      answer = await ask(connection, envelope, clock, { mac, operation, request, timeoutMs });
      this.#suspects.delete(mac);
    } catch (error) {
      if ((error as Error).cause === UNANSWERED) this.#suspects.add(mac);
      else this.#suspects.delete(mac);
      throw error;
    }
    const read = schema.safeParse(answer);
    if (!read.success) throw problem('mac_answer_invalid');
    return read.data;
  }
}

function pageOf<Item>({
  items,
  next,
}: {
  readonly items: readonly Item[];
  readonly next?: string | undefined;
}): Page<Item> {
  return { items, ...(next !== undefined && { next }) };
}

function namesOf(include: IncludeSet | undefined): ReadRequests['message']['include'] {
  return include === undefined || include.size === 0 ? undefined : [...include];
}

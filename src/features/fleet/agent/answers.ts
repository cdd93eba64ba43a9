import type { Msg, Subscription } from '@nats-io/nats-core';
import type { LogEntry } from '../../../core/model/event.ts';
import { guidOfId } from '../../../core/model/fleet.ts';
import { type Include, type IncludeSet, includeSet } from '../../../core/model/include.ts';
import { isShownByDefault } from '../../../core/model/narrowing.ts';
import { rowOffset } from '../../../core/model/offset.ts';
import { problem } from '../../../core/model/problems.ts';
import { readBody } from '../../../core/schema/mistakes.ts';
import { isChangesEpoch } from '../protocol/event-message.ts';
import {
  type AttachmentChunk,
  type CheckedRead,
  FLEET_READS,
  type FleetOperation,
  type RowEvent,
} from '../protocol/fleet-reads-schema.ts';
import { readSubject } from '../protocol/layout.ts';
import { type Reply, readQuestion, respond, toProblem } from '../protocol/requests.ts';
import type { JoinedParts } from './agent.ts';
import { changeKey, loggedChanges } from './change-chain.ts';
import { withoutText } from './uplink.ts';

/** Maximum number of questions answered at a time, so that a large fleet does not keep the Mac busy. */
const MAX_RUNNING = 64;
/** Maximum number of events in one answer. */
const MAX_ROWS = 200;

/** Answers the questions of hubs as the owner's own API would. Listens only to the operations in `FLEET_READS`. */
export class Answers {
  readonly #parts: JoinedParts;
  readonly #changesEpoch: () => string | undefined;
  #subscriptions: readonly Subscription[] = [];
  #running = 0;

  /**
   * `changesEpoch` returns the epoch of this Mac's changes in the stream; undefined until the uplink has read that
   * epoch.
   */
  constructor(parts: JoinedParts, changesEpoch: () => string | undefined) {
    this.#parts = parts;
    this.#changesEpoch = changesEpoch;
  }

  start(): void {
    this.stop();
    const { connection, mac } = this.#parts;
    this.#subscriptions = (Object.keys(FLEET_READS) as FleetOperation[]).map((operation) =>
      connection.nc.subscribe(readSubject(mac, operation), {
        callback: (error, message) => {
          if (error === null && message.reply) void this.#answer(message, operation);
        },
      }),
    );
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#subscriptions = [];
  }

  async #answer(message: Msg, operation: FleetOperation): Promise<void> {
    const { mac, envelope, log } = this.#parts;
    this.#running += 1;
    let reply: Reply;
    try {
      if (this.#running > MAX_RUNNING) throw problem('mac_busy');
      reply = { result: await this.#result(operation, readQuestion(message, mac, operation, envelope)) };
    } catch (error) {
      reply = { problem: toProblem(error) };
    } finally {
      this.#running -= 1;
    }
    try {
      respond(message, mac, operation, reply, envelope);
    } catch (error) {
      // The connection was lost, so the hub's request fails too.
      log.debug('a request of a hub was not answered', { operation, error });
    }
  }

  /**
   * Returns the result of an operation. Throws `invalid_request` unless `given` is a valid request for that operation.
   */
  async #result<Name extends FleetOperation>(operation: Name, given: unknown): Promise<unknown> {
    const { reader, sender, isKept } = this.#parts;
    const answers: { readonly [Each in FleetOperation]: (request: CheckedRead<Each>) => unknown } = {
      listMessages: ({ include, ...query }) => reader.listMessages({ ...query, include: included(include) }),
      message: ({ id, include }) => reader.message(this.#rowOf(id), { include: included(include) }),
      listConversations: ({ include, ...query }) => reader.listConversations({ ...query, include: included(include) }),
      conversation: ({ id, include }) => reader.conversation(id, { include: included(include) }),
      attachment: (request) => this.#chunk(request),
      attachmentMistakes: ({ paths }) => sender.attachmentMistakes(paths),
      knowsKey: ({ key }) => isKept(key),
      events: (request) => this.#events(request),
    };
    const request = readBody(FLEET_READS[operation].request, given) as CheckedRead<Name>;
    return (await answers[operation](request)) ?? null;
  }

  /** Returns the row id for an id that contains a known guid, and any other id unchanged. */
  #rowOf(id: string): string {
    const guid = guidOfId(id);
    return guid === undefined ? id : String(this.#parts.rowOfGuid(guid) ?? id);
  }

  async #events({ epoch, after, before }: CheckedRead<'events'>): Promise<readonly RowEvent[] | null> {
    const { store, settings, json } = this.#parts;
    const isOfChanges = isChangesEpoch(epoch);
    const current = isOfChanges ? this.#changesEpoch() : store.epoch();
    if (current === undefined && settings.changes) throw problem('mac_busy');
    if (epoch !== current) return null;
    const entries = isOfChanges
      ? loggedChanges(this.#parts.feed, { after, before, limit: MAX_ROWS })
      : this.#rows(after, before);
    if (!entries) return null;
    return Promise.all(
      entries.map(async (entry) => ({
        row: entry.change ?? entry.rowId,
        guid: isOfChanges ? changeKey(entry) : entry.guid,
        type: entry.event.type,
        json: settings.content === 'metadata' ? withoutText(entry) : await json(entry),
      })),
    );
  }

  /**
   * Returns the first rows with ids greater than `after` and less than `before`, at most `MAX_ROWS` and without
   * hidden messages. Returns an empty list if there are none.
   */
  #rows(after: number, before: number): readonly LogEntry[] {
    for (let from = after; ; ) {
      const entries = this.#parts.messages.entries(rowOffset(from), rowOffset(before - 1), MAX_ROWS);
      const shown = entries.filter(isShownByDefault);
      const last = entries.at(-1);
      if (shown.length > 0 || last === undefined) return shown;
      from = last.rowId;
    }
  }

  async #chunk({ id, n, form, at, bytes: wanted }: CheckedRead<'attachment'>): Promise<AttachmentChunk | undefined> {
    const file = await this.#parts.attachments.open(this.#rowOf(id), n, form);
    if (file === undefined) return undefined;
    const { name, mimeType, bytes, version } = file;
    const end = Math.min(at + wanted, bytes) - 1;
    const parts: Uint8Array[] = [];
    if (end < at) await file.close();
    else for await (const part of file.read(at, end)) parts.push(part);
    return { name, mimeType, bytes, version, data: Buffer.concat(parts).toString('base64') };
  }
}

function included(names: readonly string[] = []): IncludeSet {
  return includeSet(names as readonly Include[]);
}

import type { Msg, Subscription } from '@nats-io/nats-core';
import type { LogEntry } from '../../domain/event.ts';
import { type FleetContent, guidOfId } from '../../domain/fleet.ts';
import { INCLUDES, type Include, includeSet } from '../../domain/include.ts';
import { rowOffset } from '../../domain/offset.ts';
import type { MessageLog } from '../../domain/ports/feed.ts';
import type { FleetStore } from '../../domain/ports/fleet.ts';
import type { Log } from '../../domain/ports/host.ts';
import type { AttachmentReader, ConvertedForm, MessageReader } from '../../domain/ports/reading.ts';
import type { CallerSender } from '../../domain/ports/sending.ts';
import { invalidRequest, problem } from '../../domain/problems.ts';
import type { StatusReport } from '../../domain/status.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { CHUNK_BYTES, FLEET_OPERATIONS, type FleetOperation, readSubject } from '../protocol/layout.ts';
import type { AttachmentChunk, ReadResults, RowEvent } from '../protocol/reads.ts';
import { type Reply, readQuestion, respond, toProblem } from '../protocol/requests.ts';
import { withoutText } from './uplink.ts';

/** Questions that are being answered at a time; hubs of a large fleet are no reason to keep the Mac busy. */
const MAX_RUNNING = 64;
const MAX_LIMIT = 200;
const MAX_TEXT = 4096;

export interface AnswersParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly mac: string;
  readonly reader: MessageReader;
  readonly attachments: AttachmentReader;
  readonly sender: Pick<CallerSender, 'attachmentMistakes'>;
  readonly isKept: (key: string) => boolean;
  readonly rowOfGuid: (guid: string) => number | undefined;
  readonly status: () => StatusReport | Promise<StatusReport>;
  readonly store: Pick<FleetStore, 'epoch'>;
  readonly messages: Pick<MessageLog, 'entries'>;
  readonly content: FleetContent;
  readonly json: (entry: LogEntry) => string;
  readonly log: Log;
}

/** Answers the questions of hubs, as the owner's own API would. Nothing but `OPERATIONS` has a subscription. */
export class Answers {
  readonly #parts: AnswersParts;
  #subscriptions: readonly Subscription[] = [];
  #running = 0;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
  }

  start(): void {
    this.stop();
    const { connection, mac } = this.#parts;
    this.#subscriptions = FLEET_OPERATIONS.map((operation) =>
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
      const request = new Request(readQuestion(message, mac, operation, envelope));
      reply = { result: await this.#result(operation, request) };
    } catch (error) {
      reply = { problem: toProblem(error) };
    } finally {
      this.#running -= 1;
    }
    try {
      respond(message, mac, operation, reply, envelope);
    } catch (error) {
      // The connection is gone, and the caller has had its error.
      log.debug('a question of the fleet was not answered', { operation, error });
    }
  }

  async #result(operation: FleetOperation, request: Request): Promise<ReadResults[FleetOperation]> {
    const { reader, sender, status } = this.#parts;
    const options = { include: request.include() };
    switch (operation) {
      case 'listMessages':
        return reader.listMessages({
          ...options,
          conversationId: request.optionalText('conversationId'),
          conversationIds: request.has('conversationIds') ? request.texts('conversationIds', MAX_LIMIT) : undefined,
          sinceNs: request.nanoseconds('sinceNs'),
          beforeNs: request.nanoseconds('beforeNs'),
          order: request.text('order') === 'asc' ? 'asc' : 'desc',
          limit: request.integer('limit', 1, MAX_LIMIT),
          offset: request.integer('offset', 0, Number.MAX_SAFE_INTEGER),
          cursor: request.optionalText('cursor'),
        });
      case 'message':
        return (await reader.message(this.#rowOf(request.text('id')), options)) ?? null;
      case 'listConversations':
        return reader.listConversations({
          ...options,
          limit: request.integer('limit', 1, MAX_LIMIT),
          offset: request.integer('offset', 0, Number.MAX_SAFE_INTEGER),
        });
      case 'conversation':
        return (await reader.conversation(request.text('id'), options)) ?? null;
      case 'attachment':
        return this.#chunk(request);
      case 'attachmentMistakes':
        return sender.attachmentMistakes(request.texts('paths', 10));
      case 'status':
        return status();
      case 'knowsKey':
        return this.#parts.isKept(request.text('key'));
      case 'events':
        return this.#events(request);
    }
  }

  /** The row that an id names, by its guid or as it is. */
  #rowOf(id: string): string {
    const guid = guidOfId(id);
    return guid === undefined ? id : String(this.#parts.rowOfGuid(guid) ?? id);
  }

  #events(request: Request): readonly RowEvent[] | null {
    const { store, messages, content, json } = this.#parts;
    if (request.text('epoch') !== store.epoch()) return null;
    const after = request.integer('after', 0, Number.MAX_SAFE_INTEGER);
    const before = request.integer('before', 1, Number.MAX_SAFE_INTEGER);
    return messages.entries(rowOffset(after), rowOffset(before - 1), MAX_LIMIT).map((entry) => ({
      row: entry.rowId,
      guid: entry.guid,
      type: entry.event.type,
      json: content === 'metadata' ? withoutText(entry) : json(entry),
    }));
  }

  async #chunk(request: Request): Promise<AttachmentChunk | null> {
    const at = request.integer('at', 0, Number.MAX_SAFE_INTEGER);
    const wanted = request.integer('bytes', 0, CHUNK_BYTES);
    const place = request.integer('n', 0, 9999);
    const file = await this.#parts.attachments.open(this.#rowOf(request.text('id')), place, request.form());
    if (file === undefined) return null;
    const { name, mimeType, bytes, version } = file;
    const end = Math.min(at + wanted, bytes) - 1;
    if (end < at) {
      await file.close();
      return { name, mimeType, bytes, version, data: '' };
    }
    const parts: Uint8Array[] = [];
    for await (const part of file.read(at, end)) parts.push(part);
    return { name, mimeType, bytes, version, data: Buffer.concat(parts).toString('base64') };
  }
}

/** What a hub asks, which anybody with its rights may have written. Throws `invalid_request`. */
class Request {
  readonly #members: Readonly<Record<string, unknown>>;

  constructor(given: unknown) {
    if (typeof given !== 'object' || given === null) throw wrong('', 'an object');
    this.#members = given as Readonly<Record<string, unknown>>;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#members, name) && this.#members[name] !== undefined;
  }

  text(name: string): string {
    const value = this.has(name) ? this.#members[name] : undefined;
    if (typeof value !== 'string' || value.length > MAX_TEXT || value.includes('\0')) throw wrong(name, 'text');
    return value;
  }

  optionalText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  integer(name: string, least: number, most: number): number {
    const value = Number(this.has(name) && typeof this.#members[name] === 'number' ? this.#members[name] : Number.NaN);
    if (!Number.isSafeInteger(value) || value < least || value > most) throw wrong(name, `from ${least} to ${most}`);
    return value;
  }

  nanoseconds(name: string): bigint | undefined {
    if (!this.has(name)) return undefined;
    const text = this.text(name);
    if (!/^-?\d{1,25}$/.test(text)) throw wrong(name, 'a number in digits');
    return BigInt(text);
  }

  texts(name: string, most: number): readonly string[] {
    const value = this.has(name) ? this.#members[name] : undefined;
    const isFine = Array.isArray(value) && value.length <= most;
    if (!isFine || !value.every((item) => typeof item === 'string' && item.length <= MAX_TEXT)) {
      throw wrong(name, 'a list of texts');
    }
    return value as readonly string[];
  }

  include() {
    const names = this.has('include') ? this.texts('include', INCLUDES.length) : [];
    return includeSet(names.filter((name): name is Include => (INCLUDES as readonly string[]).includes(name)));
  }

  form(): ConvertedForm | undefined {
    if (!this.has('form')) return undefined;
    const given = new Request(this.#members.form);
    if (given.text('as') === 'm4a') return { as: 'm4a' };
    if (given.text('as') !== 'jpeg') throw wrong('form', 'jpeg or m4a');
    return { as: 'jpeg', max: given.has('max') ? given.integer('max', 1, 10_000) : undefined };
  }
}

function wrong(name: string, allowed: string) {
  return invalidRequest([{ pointer: `/${name}`, message: `${name || 'The request'} must be ${allowed}.` }]);
}

import { basename } from 'node:path';
import type { MessageDetails, Origin } from '../model/details.ts';
import { errorCode } from '../model/errors.ts';
import type { Message } from '../model/message.ts';
import type { Log } from '../model/ports/host-ports.ts';
import type { SentPartStore } from '../model/ports/sent-parts-ports.ts';
import type { Confirmations } from './confirmations.ts';
import { contentHashes } from './content-hash.ts';
import { isExpectedIn } from './row-owners.ts';
import type { TolerantLookup } from './tolerant-lookup.ts';

export interface OriginsParts {
  readonly store: SentPartStore;
  readonly confirmations: Confirmations;
  readonly lookup: TolerantLookup;
  readonly log: Log;
}

type SendDetails = Pick<MessageDetails, 'origin' | 'service_used' | 'service_reason'>;

/** Maximum time from a send until its copy arrives in the conversation with oneself (decision AB5). */
const ECHO_MS = 600_000;
/** A copy may be dated this much before its send, because the clocks of Apple and of the Mac differ. */
const SKEW_MS = 60_000;

const ELSEWHERE: SendDetails = { origin: { by: 'elsewhere' } };

/** Determines whether this service sent an outgoing message (decision I5). Adds no origin if that is uncertain. */
export class Origins {
  readonly #parts: OriginsParts;

  constructor(parts: OriginsParts) {
    this.#parts = parts;
  }

  /**
   * Stores chat.db's highest row id: the record of sends is complete for all rows after it. Does nothing if a row id is
   * stored already, or while chat.db is unreadable.
   */
  start(): void {
    const { store, lookup } = this.#parts;
    if (store.completeSince() !== undefined) return;
    const highestRowId = lookup.highestRowId();
    if (highestRowId !== undefined) store.begin(highestRowId);
  }

  /**
   * Returns a message's details with its origin added, unless the origin is uncertain. Adds `mirror` to an incoming
   * message in the conversation with oneself that repeats a text sent there and not found in chat.db (decision AB5).
   */
  added(message: Message, details: MessageDetails): MessageDetails {
    try {
      if (!message.is_from_me) return this.#isOwnEcho(message, details) ? { ...details, mirror: true } : details;
      const text = details.part_of && this.#parts.lookup.message(Number(details.part_of.id));
      return { ...details, ...this.#originOf(text ?? message, details) };
    } catch (error) {
      this.#parts.log.warn('could not read the origin of a sent message', { code: errorCode(error) });
      return details;
    }
  }

  /**
   * Reports whether a message shown as incoming may be one that Postern has just sent. Messages may insert an outgoing
   * row as incoming, with the recipient's handle, and correct it a moment later (decision U1).
   */
  isAwaited(message: Message, attachmentNames: (message: Message) => readonly string[]): boolean {
    const contents = (): readonly string[] =>
      contentsOf(message, message.attachments.length === 0 ? [] : attachmentNames(message));
    return this.#parts.confirmations.isAwaited(Number(message.id), contents);
  }

  #isOwnEcho(message: Message, { mirror }: MessageDetails): boolean {
    if (mirror === true || message.attachments.length > 0) return false;
    const { store, lookup } = this.#parts;
    const atMs = Date.parse(message.timestamp);
    // Earlier sends account for earlier copies, so they are looked for three times as far back.
    const sent = store.withoutRow(contentsOf(message, []), atMs - 3 * ECHO_MS, atMs + SKEW_MS);
    return sent.length > 0 && lookup.isMirror(message, sent);
  }

  #originOf(message: Message, details: MessageDetails): SendDetails | undefined {
    const { store, confirmations } = this.#parts;
    const rowId = Number(message.id);
    const contents = (): readonly string[] =>
      contentsOf(
        message,
        details.attachments.map(({ name }) => name),
      );
    let part = store.ofRow(rowId);
    if (part === undefined && confirmations.findOwner(rowId, contents)) part = store.ofRow(rowId);
    if (part !== undefined) {
      if (part.guid !== message.guid) return undefined;
      const { requestId, idempotencyKey, keyId, serviceReason } = part;
      const origin: Origin = {
        by: 'gateway',
        ...(requestId !== undefined && { request_id: requestId }),
        ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
        ...(keyId !== undefined && { key_id: keyId }),
      };
      if (serviceReason === undefined) return { origin };
      // Reports the service in the row, because Messages may have used another one than requested.
      return { origin, service_used: details.service, service_reason: serviceReason };
    }
    this.start();
    const since = store.completeSince();
    if (confirmations.hasGaps || since === undefined || rowId <= since) return undefined;
    const unpaired = store.unpaired(rowId);
    if (unpaired.length === 0) return ELSEWHERE;
    // An edited row, or one that is still empty, cannot be compared with a sent part.
    const isChanged = details.edited_at !== null || details.retracted_at !== null;
    const isEmpty = message.body === '' && message.attachments.length === 0;
    const at = message.conversation_id.indexOf(';');
    const address = at < 0 ? undefined : message.conversation_id.slice(at + 1);
    const mayBeOurs = (isChanged || isEmpty ? unpaired : store.unpaired(rowId, contents())).some(
      (chat) => address === undefined || isExpectedIn(chat, address),
    );
    return mayBeOurs ? undefined : ELSEWHERE;
  }
}

/** Returns the content hashes of a message's row. */
function contentsOf({ body, attachments }: Message, attachmentNames: readonly string[]): readonly string[] {
  return contentHashes(body, [...attachments.map((path) => basename(path)), ...attachmentNames]);
}

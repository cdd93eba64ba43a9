import { createHash } from 'node:crypto';
import { type MsgHdrs, headers as newHeaders } from '@nats-io/nats-core';
import { MAC_ID } from '../../../core/model/fleet.ts';
import type { Envelope } from './envelope.ts';
import { HEADERS, VERSION } from './layout.ts';

/** An event in the stream. */
export interface EventMessage {
  readonly mac: string;
  /** A new epoch begins when chat.db is replaced. Row ids of different epochs are unrelated. */
  readonly epoch: string;
  readonly row: number;
  /**
   * The row that the Mac published before this one; 0 for the first of an epoch. A reader that has not seen that row
   * has missed rows.
   */
  readonly previousRow: number;
  /** Sequence of the previous message of the same chain; 0 if the headers name none. */
  readonly previousSequence: number;
  /** The Mac's other chain: for a row, the chain of changes; for a change, the chain of rows. */
  readonly other?: ChainState | undefined;
  readonly type: string;
  /** The event's `eventId`. */
  readonly id: string;
  /** Identifies the run of the agent that published this event. */
  readonly instance: string;
  /** True if body and attachments were omitted. The Mac still has them. */
  readonly isMetadata: boolean;
}

/**
 * The newest message of a chain. Each Mac has a chain of rows. A Mac that publishes changes also has a chain of changes
 * with another epoch. In a chain of changes, `row` is the number of a change (decision N9).
 */
export interface ChainState {
  readonly epoch: string;
  readonly row: number;
  /** Sequence of the chain's newest message; 0 if the stream holds none. */
  readonly sequence: number;
  /** `eventId` of the chain's newest event; "" if unknown. */
  readonly id: string;
}

/**
 * Type of the message that tells hubs after which change a chain continues. A Mac publishes it when the chain begins,
 * or when the stream no longer has the chain's newest message.
 */
export const CHAIN_START = 'changes.started';
/** Body of a message of type `CHAIN_START`. */
export const CHAIN_START_BODY = '{"type":"messages.changed","data":{"first_id":"","last_id":"","count":0}}';

const CHANGES = 'c_';

/**
 * Returns the epoch of a chain of changes. It differs from every epoch of rows, because those contain no underscore.
 */
export function changesEpoch(generation: number, rowEpoch: string): string {
  return `${CHANGES}${generation}_${rowEpoch}`;
}

export function isChangesEpoch(epoch: string): boolean {
  return epoch.startsWith(CHANGES);
}

/** Returns an event's message id, which looks like a UUIDv5. The same Mac, epoch and guid always have the same id. */
export function eventId(mac: string, epoch: string, guid: string): string {
  const digest = createHash('sha1')
    .update(JSON.stringify(['postern event', mac, epoch, guid]))
    .digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** Returns headers and body of an event. `json` is the event as the API defines it, with the Mac's own ids. */
export function encodeEvent(
  message: Omit<EventMessage, 'previousSequence'> & { readonly previousSequence?: number | undefined },
  json: string,
  envelope: Envelope,
) {
  const headers = newHeaders();
  headers.set(HEADERS.version, String(VERSION));
  headers.set(HEADERS.row, String(message.row));
  headers.set(HEADERS.previousRow, String(message.previousRow));
  headers.set(HEADERS.epoch, message.epoch);
  headers.set(HEADERS.type, message.type);
  headers.set(HEADERS.instance, message.instance);
  if (message.previousSequence !== undefined) headers.set(HEADERS.chainSequence, String(message.previousSequence));
  if (message.other !== undefined) {
    const { epoch, row, sequence, id } = message.other;
    headers.set(HEADERS.otherChain, `${epoch} ${row} ${sequence} ${id}`);
  }
  if (message.isMetadata) headers.set(HEADERS.content, 'metadata');
  const { bytes, keyId } = envelope.seal(message.mac, contextOf(message), Buffer.from(json));
  if (keyId !== undefined) headers.set(HEADERS.key, keyId);
  return { headers, body: bytes };
}

/**
 * Reads the headers of an event; undefined if they do not have the form that agents write. The headers prove nothing,
 * because any client with the right to publish can write them. `isDirect`: the message answers a direct get, to
 * which the server adds a `Nats-Subject` header. Returns undefined if any other message has this header.
 */
export function readEventHeaders(
  subject: string,
  headers: MsgHdrs | undefined,
  { isDirect = false } = {},
): EventMessage | undefined {
  const [, mac = ''] = /^ev\.(.*)$/s.exec(subject) ?? [];
  if (headers === undefined || !MAC_ID.test(mac)) return undefined;
  // A Mac can make the server repeat its message at another Mac's subject. The server then adds this header.
  if (headers.values('Nats-Subject').length > (isDirect ? 1 : 0)) return undefined;
  const [row, previousRow] = [numberOf(headers.get(HEADERS.row)), numberOf(headers.get(HEADERS.previousRow))];
  const [epoch, type, id] = [headers.get(HEADERS.epoch), headers.get(HEADERS.type), headers.get(HEADERS.messageId)];
  const isKnown = headers.get(HEADERS.version) === String(VERSION);
  if (!isKnown || row === undefined || previousRow === undefined) return undefined;
  if (!/^[\w-]{1,64}$/.test(epoch) || !/^[a-z.]{1,40}$/.test(type) || !/^[\w-]{1,64}$/.test(id)) return undefined;
  const [instance, isMetadata] = [headers.get(HEADERS.instance), headers.get(HEADERS.content) === 'metadata'];
  const previousSequence =
    numberOf(headers.get(HEADERS.chainSequence)) ?? numberOf(headers.get(HEADERS.previousSequence)) ?? 0;
  const other = chainOf(headers.get(HEADERS.otherChain));
  return { mac, epoch, row, previousRow, previousSequence, other, type, id, instance, isMetadata };
}

/** The members of an event that are needed to open its sealed body. */
type SealedIn = Pick<EventMessage, 'mac' | 'epoch' | 'row'>;

/** Returns the JSON of an event. Throws AppError `fleet_content_unreadable`. */
export function openEvent(message: SealedIn, keyId: string | undefined, body: Uint8Array, envelope: Envelope): string {
  const sealed = keyId === undefined || keyId === '' ? { bytes: body } : { bytes: body, keyId };
  return new TextDecoder().decode(envelope.open(message.mac, contextOf(message), sealed));
}

function chainOf(text: string): ChainState | undefined {
  const [, epoch = '', row, sequence, id = ''] = /^([\w-]{1,64}) (\d{1,15}) (\d{1,15}) ([\w-]{0,64})$/.exec(text) ?? [];
  return epoch === '' ? undefined : { epoch, row: Number(row), sequence: Number(sequence), id };
}

function contextOf({ epoch, row }: SealedIn): readonly string[] {
  return ['ev', epoch, String(row)];
}

function numberOf(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

import { createHash } from 'node:crypto';
import { type MsgHdrs, headers as newHeaders } from '@nats-io/nats-core';
import { MAC_ID } from '../../domain/fleet.ts';
import type { Envelope } from './envelope.ts';
import { HEADERS, VERSION } from './layout.ts';

/** One event of a Mac as the stream holds it. */
export interface EventMessage {
  readonly mac: string;
  /** Another one after chat.db was replaced: row ids of two epochs have nothing to do with each other. */
  readonly epoch: string;
  readonly row: number;
  /** Row that was published before this one; another one in the stream means that something is missing. */
  readonly previousRow: number;
  /** Sequence of this Mac's message before this one; 0 if the stream had none, or nobody checked. */
  readonly previousSequence: number;
  readonly type: string;
  /** `eventId` of the row. */
  readonly id: string;
  /** Which run of the agent published it. */
  readonly instance: string;
  /** True when body and attachments were left out: the Mac still has them. */
  readonly isMetadata: boolean;
}

/** The same for a row whenever it is published: UUIDv5-like, made of Mac, epoch and guid. */
export function eventId(mac: string, epoch: string, guid: string): string {
  const digest = createHash('sha1')
    .update(JSON.stringify(['postern event', mac, epoch, guid]))
    .digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** Headers and body of an event; `json` is the contract's envelope, unqualified. */
export function encodeEvent(message: Omit<EventMessage, 'previousSequence'>, json: string, envelope: Envelope) {
  const headers = newHeaders();
  headers.set(HEADERS.version, String(VERSION));
  headers.set(HEADERS.row, String(message.row));
  headers.set(HEADERS.previousRow, String(message.previousRow));
  headers.set(HEADERS.epoch, message.epoch);
  headers.set(HEADERS.type, message.type);
  headers.set(HEADERS.instance, message.instance);
  if (message.isMetadata) headers.set(HEADERS.content, 'metadata');
  const { bytes, keyId } = envelope.seal(message.mac, contextOf(message), Buffer.from(json));
  if (keyId !== undefined) headers.set(HEADERS.key, keyId);
  return { headers, body: bytes };
}

/**
 * What the headers say; undefined for what no agent wrote. Anybody with the right key can have written anything.
 * `isDirect`: the message was asked for by a direct get, to which the server adds a header of its own.
 */
export function readEventHeaders(
  subject: string,
  headers: MsgHdrs | undefined,
  { isDirect = false } = {},
): EventMessage | undefined {
  const [, mac = ''] = /^ev\.(.*)$/s.exec(subject) ?? [];
  if (headers === undefined || !MAC_ID.test(mac)) return undefined;
  // A Mac can make the server repeat one of its own messages at the subject of another; the server says so.
  if (headers.values('Nats-Subject').length > (isDirect ? 1 : 0)) return undefined;
  const [row, previousRow] = [numberOf(headers.get(HEADERS.row)), numberOf(headers.get(HEADERS.previousRow))];
  const [epoch, type, id] = [headers.get(HEADERS.epoch), headers.get(HEADERS.type), headers.get(HEADERS.messageId)];
  const isKnown = headers.get(HEADERS.version) === String(VERSION);
  if (!isKnown || row === undefined || previousRow === undefined) return undefined;
  if (!/^[\w-]{1,64}$/.test(epoch) || !/^[a-z.]{1,40}$/.test(type) || !/^[\w-]{1,64}$/.test(id)) return undefined;
  const isMetadata = headers.get(HEADERS.content) === 'metadata';
  const previousSequence = numberOf(headers.get(HEADERS.previousSequence)) ?? 0;
  return {
    mac,
    epoch,
    row,
    previousRow,
    previousSequence,
    type,
    id,
    instance: headers.get(HEADERS.instance),
    isMetadata,
  };
}

/** What the body of an event is bound to. */
type SealedIn = Pick<EventMessage, 'mac' | 'epoch' | 'row'>;

/** The JSON of an event. Throws AppError `fleet_content_unreadable`. */
export function openEvent(message: SealedIn, keyId: string | undefined, body: Uint8Array, envelope: Envelope): string {
  const sealed = keyId === undefined || keyId === '' ? { bytes: body } : { bytes: body, keyId };
  return new TextDecoder().decode(envelope.open(message.mac, contextOf(message), sealed));
}

function contextOf({ epoch, row }: SealedIn): readonly string[] {
  return ['ev', epoch, String(row)];
}

function numberOf(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

import { createHash } from 'node:crypto';
import { type MsgHdrs, headers as newHeaders } from '@nats-io/nats-core';
import { AppError } from '../../domain/errors.ts';
import { type Envelope, pack, unpack } from './envelope.ts';
import { HEADERS, VERSION } from './layout.ts';
import type { Reply } from './requests.ts';

/** A send as it waits in the work queue of a Mac. */
export interface SendOrder {
  /** The client's Idempotency-Key, or one that the hub made. */
  readonly key: string;
  /** Unix milliseconds: afterwards it is refused unsent. */
  readonly deadlineMs: number;
  /** Body of `POST /messages`, unqualified, as the hub has checked it; the agent checks it again. */
  readonly request: unknown;
  readonly requestId?: string | undefined;
}

/** What became of a send, at `outcomeSubject`, and in the bucket `outcomes` for 24 hours once it is final. */
export interface SendOutcome {
  /** `requestHash` of the order: another request with the same key gets `idempotency_key_reused`. */
  readonly requestHash: string;
  /** `result` is a `SendResult`. */
  readonly reply: Reply;
}

/** Stands for the key in subjects and headers. */
export function keyHash(key: string): string {
  return createHash('sha256').update(`postern send ${key}`).digest('hex');
}

export function hashOfRequest(request: unknown): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}

/**
 * Headers and body of an order. `attemptId` goes into Nats-Msg-Id, so that publishing may be repeated; a key that is
 * used again needs another one, because the agent answers every order and sends each key once.
 */
export function encodeOrder(mac: string, order: SendOrder, attemptId: string, envelope: Envelope) {
  const headers = newHeaders();
  headers.set(HEADERS.version, String(VERSION));
  headers.set(HEADERS.messageId, attemptId);
  return { headers, body: pack(envelope, mac, ['send'], order) };
}

/** Throws AppError `fleet_content_unreadable`. `request` is still to be checked. */
export function decodeOrder(
  mac: string,
  headers: MsgHdrs | undefined,
  body: Uint8Array,
  envelope: Envelope,
): SendOrder {
  const given = unpack(envelope, mac, ['send'], body) as Partial<SendOrder> | null;
  const isFine =
    headers?.get(HEADERS.version) === String(VERSION) &&
    typeof given?.key === 'string' &&
    /^[\x20-\x7e]{1,255}$/.test(given.key) &&
    Number.isSafeInteger(given.deadlineMs) &&
    (given.requestId === undefined || /^[\w.-]{1,100}$/.test(given.requestId));
  if (!isFine) throw new AppError('fleet_content_unreadable', 'A send of the fleet cannot be read.', { status: 502 });
  return given as SendOrder;
}

export function packOutcome(envelope: Envelope, mac: string, key: string, outcome: SendOutcome): Uint8Array {
  return pack(envelope, mac, ['outcome', keyHash(key)], outcome);
}

/** Throws AppError `fleet_content_unreadable`. */
export function unpackOutcome(envelope: Envelope, mac: string, key: string, packed: Uint8Array): SendOutcome {
  const given = unpack(envelope, mac, ['outcome', keyHash(key)], packed) as Partial<SendOutcome> | null;
  const isFine = typeof given?.requestHash === 'string' && typeof given.reply === 'object' && given.reply !== null;
  if (!isFine) throw new AppError('fleet_content_unreadable', 'The outcome of a send cannot be read.', { status: 502 });
  return given as SendOutcome;
}

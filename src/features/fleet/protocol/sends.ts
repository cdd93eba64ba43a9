import { createHash } from 'node:crypto';
import { type MsgHdrs, headers as newHeaders } from '@nats-io/nats-core';
import { type Envelope, pack, unpack, unreadable } from './envelope.ts';
import { type SendOrder, type SendOutcome, sendOrder, sendOutcome } from './fleet-records-schema.ts';
import { HEADERS, VERSION } from './layout.ts';

/** Returns the hash of a send's Idempotency-Key. It stands for that key in subjects and in the keys of buckets. */
export function keyHash(key: string): string {
  return createHash('sha256').update(`postern send ${key}`).digest('hex');
}

export function hashOfRequest(request: unknown): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}

/**
 * Returns headers and body of an order. `attemptId` becomes the order's Nats-Msg-Id, so that publishing may be
 * repeated. A new attempt with the same idempotency key needs a new id, or the broker would discard it as a duplicate.
 * The agent answers every order, but sends only once per idempotency key.
 */
export function encodeOrder(mac: string, order: SendOrder, attemptId: string, envelope: Envelope) {
  const headers = newHeaders();
  headers.set(HEADERS.version, String(VERSION));
  headers.set(HEADERS.messageId, attemptId);
  return { headers, body: pack(envelope, mac, ['send'], order) };
}

/**
 * Returns the order in a message. Throws AppError `fleet_content_unreadable`. Does not check `request`, which the
 * caller must do.
 */
export function decodeOrder(
  mac: string,
  headers: MsgHdrs | undefined,
  body: Uint8Array,
  envelope: Envelope,
): SendOrder {
  if (headers?.get(HEADERS.version) !== String(VERSION)) {
    throw unreadable('it was written by an incompatible version of Postern');
  }
  return unpack(sendOrder, envelope, mac, ['send'], body);
}

export function packOutcome(envelope: Envelope, mac: string, key: string, outcome: SendOutcome): Uint8Array {
  return pack(envelope, mac, ['outcome', keyHash(key)], outcome);
}

/** Throws AppError `fleet_content_unreadable`. */
export function unpackOutcome(envelope: Envelope, mac: string, key: string, packed: Uint8Array): SendOutcome {
  return unpack(sendOutcome, envelope, mac, ['outcome', keyHash(key)], packed);
}

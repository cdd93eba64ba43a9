import { createHash } from 'node:crypto';

/** The `X-Webhook-Delivery` id: the row's guid in the namespace that the webhook's own id is, the same for ever (F2). */
export function deliveryId(webhookId: string, guid: string): string {
  const bytes = createHash('sha1').update(webhookId.replaceAll('-', ''), 'hex').update(guid, 'utf8').digest();
  // RFC 9562, 5.5: the first 16 bytes, with version 5 and the variant in their places.
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

import { parse, v5 } from 'uuid';

/** Our own namespace (RFC 9562, 5.5); it must never change, or receivers could not tell repeats. */
const NAMESPACE = parse('6f0c2a52-3a7b-4a0e-9f0e-6f1d7d0b5c11');

/** The `X-Webhook-Delivery` id: made from the webhook and the row's guid, the same for ever (F2). */
export function deliveryId(webhookId: string, guid: string): string {
  return v5(Buffer.from(`${webhookId}/${guid}`, 'utf8'), NAMESPACE);
}

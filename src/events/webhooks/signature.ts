import { createHmac } from 'node:crypto';

/** The contract's signature: hex HMAC-SHA256 of the raw body, the secret's UTF-8 bytes as key. */
export function contractSignature(secret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** The `webhook-signature` of Standard Webhooks 1.0: base64 HMAC-SHA256 of `id.timestamp.body` (decision F2). */
export function standardSignature(secret: string, id: string, timestampS: number, body: Uint8Array): string {
  const hmac = createHmac('sha256', standardKey(secret)).update(`${id}.${timestampS}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}

const STANDARD_SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?)$/;

/** Base64 after `whsec_` if the secret has that form, else its UTF-8 bytes (decision F2). */
function standardKey(secret: string): Buffer {
  const base64 = STANDARD_SECRET.exec(secret)?.[1];
  return base64 === undefined || base64 === '' ? Buffer.from(secret, 'utf8') : Buffer.from(base64, 'base64');
}

import { createHmac, timingSafeEqual } from 'node:crypto';

/** How far the clock of the sender may be off, as Standard Webhooks advises. */
const TOLERANCE_S = 300;

/** Reports whether a body was signed with the secret (Standard Webhooks 1.0) within the last five minutes. */
export function isSigned(headers: Headers, body: string, secret: string, nowMs: number): boolean {
  const [id, timestamp, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headers.get(name),
  );
  if (!id || !timestamp || !given) return false;
  if (!(Math.abs(nowMs / 1000 - Number(timestamp)) <= TOLERANCE_S)) return false;
  const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return given.split(' ').some((one) => isSame(one, `v1,${expected}`));
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

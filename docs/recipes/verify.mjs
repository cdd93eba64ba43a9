// Verify a Postern webhook in Node. Usage: POSTERN_SECRET=... node verify.mjs "$X_WEBHOOK_SIGNATURE" < body
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

export function isGenuine(secret, body, signature) {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature); // compare byte lengths: a forged signature may have any characters
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const secret = process.env.POSTERN_SECRET;
if (!secret) throw new Error('POSTERN_SECRET is not set');
const genuine = isGenuine(secret, readFileSync(0), process.argv[2] ?? '');
console.log(genuine ? 'genuine' : 'forged');
process.exitCode = genuine ? 0 : 1;

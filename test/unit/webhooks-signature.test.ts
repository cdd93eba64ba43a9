import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { failureSentence, refusalSentence } from '../../src/core/webhooks/delivery-errors.ts';
import { deliveryId } from '../../src/core/webhooks/delivery-record.ts';
import { contractSignature, standardSignature } from '../../src/core/webhooks/poster.ts';

const body = Buffer.from('{"type":"message.received","data":{"body":"Grüße 👋"}}', 'utf8');

describe('the contract signature', () => {
  test('is the lowercase hex HMAC-SHA256 of the raw body with the secret as key', () => {
    const expected = createHmac('sha256', Buffer.from('sécret', 'utf8')).update(body).digest('hex');
    expect(contractSignature('sécret', body)).toBe(`sha256=${expected}`);
  });

  test('agrees with the published example of HMAC-SHA256 (RFC 4231, case 2)', () => {
    expect(contractSignature('Jefe', Buffer.from('what do ya want for nothing?'))).toBe(
      'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  test('takes a whsec_ secret as it is', () => {
    const expected = createHmac('sha256', 'whsec_c2VjcmV0').update(body).digest('hex');
    expect(contractSignature('whsec_c2VjcmV0', body)).toBe(`sha256=${expected}`);
  });
});

describe('the Standard Webhooks signature', () => {
  const signedBy = (key: Buffer): string =>
    `v1,${createHmac('sha256', key)
      .update(Buffer.concat([Buffer.from('msg_1.1700000000.'), body]))
      .digest('base64')}`;

  test('uses the base64 after whsec_ as key', () => {
    expect(standardSignature('whsec_c2VjcmV0', 'msg_1', 1_700_000_000, body)).toBe(signedBy(Buffer.from('secret')));
  });

  test('agrees with the example of the Standard Webhooks libraries', () => {
    const signature = standardSignature(
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1_614_265_330,
      Buffer.from('{"test": 2432232314}'),
    );
    expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  test.each(['plain', 'whsec_', 'whsec_not base64!', 'whsec_abcde'])('uses the bytes of %p', (secret) => {
    expect(standardSignature(secret, 'msg_1', 1_700_000_000, body)).toBe(signedBy(Buffer.from(secret, 'utf8')));
  });
});

describe('the delivery id', () => {
  test('is a UUIDv5, the same for the same webhook and row forever', () => {
    // The example of RFC 9562, A.4: the name in the namespace of domain names.
    expect(deliveryId('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com')).toBe(
      '2ed6657d-e927-568b-95e1-2665a8aea6a2',
    );
  });

  test('differs for another webhook and for another row', () => {
    const [a, b] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'];
    const ids = [deliveryId(a, 'G1'), deliveryId(b, 'G1'), deliveryId(a, 'G2')];
    expect(new Set(ids).size).toBe(3);
  });
});

describe('what went wrong', () => {
  test('is explained in a sentence', () => {
    expect(failureSentence({ code: 'ECONNREFUSED' })).toBe('The receiver refused the connection.');
    expect(failureSentence({ code: 'HPE_INVALID_CONSTANT' })).toContain('not HTTP');
    expect(failureSentence({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })).toContain('webhooks.ca_file');
    expect(failureSentence(new Error('http://user:secret@host/path'))).toBe('The request failed (unknown).');
    expect(refusalSentence(503)).toBe('The receiver answered 503.');
    expect(refusalSentence(307)).toContain('redirects are not followed');
  });
});

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import { certificatesIn } from '../../src/core/runtime/certificates.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Poster } from '../../src/core/webhooks/poster.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const file = (name: string): string => join(folder, name);
const openssl = (...parameters: readonly string[]): void =>
  void execFileSync('openssl', parameters, { cwd: folder, stdio: 'ignore' });

const server = { close: (): void => {}, port: 0 };
beforeAll(async () => {
  // An authority, and a receiver whose certificate it signed.
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Own CA', '-days', '2');
  openssl('req', ...key, '-keyout', 'a.key', '-out', 'a.csr', '-subj', '/CN=127.0.0.1');
  writeFileSync(file('a.ext'), 'subjectAltName=IP:127.0.0.1\n');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'a.ext', '-days', '2'];
  openssl('x509', '-req', '-in', 'a.csr', ...signed, '-out', 'a.pem');
  const listener = createServer(
    { key: readFileSync(file('a.key')), cert: readFileSync(file('a.pem')) },
    (_, response) => response.writeHead(204).end(),
  );
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  server.port = (listener.address() as AddressInfo).port;
  server.close = () => {
    listener.closeAllConnections();
    listener.close();
  };
});
afterAll(() => server.close());

async function post(caFile: string) {
  const poster = new Poster({ version: '1', clock: systemClock, caFile });
  const url = `https://127.0.0.1:${server.port}/`;
  const to = { url, secret: null, previousSecret: null, headers: {}, keyId: null };
  const { result } = poster.send({ to, id: 'x', event: 'webhook.test', json: '{}', retry: false });
  const { outcome, error } = await result;
  poster.close();
  return { outcome, error };
}

test('the client says of a service whose certificate it does not trust that it was not reached', async () => {
  const client = new PosternClient({ url: `https://127.0.0.1:${server.port}`, key: 'a key' });
  await expect(client.status()).rejects.toMatchObject({ code: 'unreachable' });
});

describe('a receiver of an own authority', () => {
  test('is trusted with the certificate of that authority', async () => {
    expect(await post(file('ca.pem'))).toEqual({
      outcome: 'delivered',
      error: null,
    });
  });

  test('is not trusted without it, and the sentence names the setting', async () => {
    // The file can be gone after the start has checked it.
    for (const caFile of ['', file('gone.pem')]) {
      expect(await post(caFile)).toEqual({
        outcome: 'failed',
        error: expect.stringMatching(/^The certificate of the receiver is not trusted \(\w+\)\. `webhooks\.ca_file`/),
      });
    }
  });
});

describe('a file of certificates', () => {
  test('may hold several, with text between them and the line ends of Windows', () => {
    const one = readFileSync(file('ca.pem'), 'utf8');
    writeFileSync(
      file('two.pem'),
      `The house\n${one}\nThe office\n${readFileSync(file('a.pem'), 'utf8')}`.replaceAll('\n', '\r\n'),
    );
    const found = certificatesIn(file('two.pem'));
    expect('certificates' in found && found.certificates).toHaveLength(2);
  });

  test.each([
    ['missing.pem', undefined, /cannot be read \(ENOENT/],
    ['empty.pem', '', /no certificate in PEM/],
    ['key.pem', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', /no certificate in PEM/],
    ['bad.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', /certificate 1 of 1 .* damaged/],
  ])('that cannot be used says what is wrong: %s', (name, text, sentence) => {
    if (text !== undefined) writeFileSync(file(name), text);
    expect(certificatesIn(file(name))).toEqual({ mistake: expect.stringMatching(sentence) });
  });
});

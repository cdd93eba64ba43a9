import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FeatureGateway } from '../support/feature-gateway.ts';

let gateway: FeatureGateway;
beforeEach(async () => {
  gateway = await FeatureGateway.start();
});
afterEach(() => gateway.close());

const PATHS = [
  '/console',
  '/favicon.ico',
  '/console/console.js',
  '/docs',
  '/docs/swagger-ui-bundle.js',
  '/openapi.json',
];

test.each(PATHS)('%s has an ETag, and is not sent again to a client that has it', async (path) => {
  const first = await gateway.get(path, { key: false });
  expect(first).toMatchObject({ status: 200, headers: { 'cache-control': 'no-cache' } });
  const etag = first.headers.etag ?? '';
  expect(etag).toMatch(/^"[\w-]{20,}"$/);
  for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await gateway.get(path, { key: false, headers: { 'if-none-match': condition } });
    expect(again).toMatchObject({ status: 304, text: '', headers: { etag } });
  }
  const other = await gateway.get(path, { key: false, headers: { 'if-none-match': '"other"' } });
  expect(other.status).toBe(200);
  expect(other.text).toBe(first.text);
});

test('a browser at a wrong address gets a page with links, and a program a problem', async () => {
  const path = '/consol/%3Cb%3E<b>';
  const shown = await gateway.get(path, { key: false, headers: { accept: 'text/html,*/*;q=0.8' } });
  expect(shown).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8', vary: 'Accept' } });
  expect(shown.headers['content-security-policy']).toContain("default-src 'none'");
  expect(shown.text).toContain('<a href="../console">');
  expect(shown.text).not.toContain('<b>');
  // The browser applies the page's own style only if the policy has its hash.
  const style = /<style>(.+)<\/style>/s.exec(shown.text)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(shown.headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`);
  for (const accept of ['application/json', '*/*', 'text/html; Q=0.0, */*']) {
    const answer = await gateway.get(path, { key: false, headers: { accept } });
    expect(answer).toMatchObject({ status: 404, json: { code: 'not_found' } });
  }
  for (const path of ['/api/v1/consol', '/api/v1']) {
    const inApi = await gateway.get(path, { headers: { accept: 'text/html' } });
    expect(inApi).toMatchObject({ status: 404, json: { code: 'not_found' } });
  }
});

test('a page of the guide is found without its ending', async () => {
  const named = await gateway.get('/guide/webhooks', { key: false });
  expect(named).toMatchObject({ status: 308, headers: { location: './webhooks.html' } });
  const nested = await gateway.get('/guide/project/contract', { key: false });
  expect(nested).toMatchObject({ status: 308, headers: { location: './contract.html' } });
});

test('a large page has its whole length, and HEAD has no body', async () => {
  const page = await gateway.get('/docs/swagger-ui-bundle.js', { key: false });
  expect(page.headers['content-length']).toBe(String(Buffer.byteLength(page.text)));
  const head = await gateway.call('HEAD', '/docs/swagger-ui-bundle.js', { key: false });
  expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': page.headers['content-length'] } });
});

/** Returns the decoded bytes of an answer. */
async function get(path: string, headers: Readonly<Record<string, string>>) {
  const asked = request(gateway.url + path, { headers, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { statusCode: status, headers: answered } = response;
  const decode = { br: brotliDecompressSync, gzip: gunzipSync }[answered['content-encoding'] ?? ''];
  return {
    status,
    headers: answered,
    bytes: body.length,
    text: String(decode === undefined || body.length === 0 ? body : decode(body)),
  };
}

test.each(PATHS)('%s is compressed for a client that can read it, and smaller then', async (path) => {
  const plain = await get(path, {});
  expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' });
  expect(plain.headers['content-encoding']).toBeUndefined();
  for (const [header, encoding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, br;q=0', 'gzip'],
  ] as const) {
    const answer = await get(path, { 'accept-encoding': header });
    expect(answer.text).toBe(plain.text);
    if (plain.bytes < 1024) continue;
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.bytes).toBeLessThan(plain.bytes * 0.7);
    const { etag = '' } = answer.headers;
    expect(etag).not.toBe(plain.headers.etag);
    expect((await get(path, { 'accept-encoding': header, 'if-none-match': etag })).status).toBe(304);
  }
  expect((await get(path, { 'accept-encoding': 'br;q=0, gzip;q=0.0' })).headers['content-encoding']).toBeUndefined();
});

test.each(['/console', '/docs'])(
  '%s names its files by their content, which a browser keeps for a year',
  async (page) => {
    const { text, headers } = await gateway.get(page, { key: false });
    expect(headers['cache-control']).toBe('no-cache');
    const files = [...text.matchAll(/(?:href|src)="(static\/[^"]+)"/g)].map(([, path = '']) => `/${path}`);
    expect(files.length).toBeGreaterThan(4);
    expect(text).not.toMatch(/"(?:console|docs)\/[\w-]+\.(?:css|js|svg)"/);
    for (const path of files) {
      const answer = await gateway.get(path, { key: false });
      const [, plain = ''] = /^\/static\/[\w-]{16}(\/.+)$/.exec(path) ?? [];
      expect(answer).toMatchObject({
        status: 200,
        headers: { 'cache-control': 'public, max-age=31536000, immutable' },
        text: (await gateway.get(plain, { key: false })).text,
      });
      // Files that a page of another version requests do not exist, nor do unknown ones.
      expect((await gateway.get(path.replace(/[\w-]{16}/, 'A'.repeat(16)), { key: false })).status).toBe(404);
      expect((await gateway.get(path.replace(plain, '/openapi.json'), { key: false })).status).toBe(404);
    }
  },
);

test('an answer of the API is never compressed', async () => {
  const { headers } = await get('/api/v1/health', { 'accept-encoding': 'br, gzip' });
  expect(headers['content-encoding']).toBeUndefined();
});

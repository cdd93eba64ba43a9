import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { HttpGateway } from '../support/http-gateway.ts';

let gateway: HttpGateway;
beforeEach(async () => {
  gateway = await HttpGateway.start();
});
afterEach(() => gateway.close());

const PATHS = ['/console', '/console/console.js', '/docs', '/docs/swagger-ui-bundle.js', '/openapi.json'];

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

test('a large page has its whole length, and HEAD has no body', async () => {
  const page = await gateway.get('/docs/swagger-ui-bundle.js', { key: false });
  expect(page.headers['content-length']).toBe(String(Buffer.byteLength(page.text)));
  const head = await gateway.call('HEAD', '/docs/swagger-ui-bundle.js', { key: false });
  expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': page.headers['content-length'] } });
});

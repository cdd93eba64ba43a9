import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { CHROMIUM, inBrowser, openPage } from '../support/browser.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
let browser: Browser | undefined;
let page: Page;
let service: Service;

beforeAll(async () => {
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const chatDbPath = join(folder, 'chat.db');
  new ChatFixture(chatDbPath).close();
  service = await Service.here({
    chatDbPath,
    osascriptPath: '/usr/bin/false',
    settings: { server: { allowed_origins: [origin] } },
  });
  if (CHROMIUM === undefined) return;
  ({ browser, page } = await openPage(CHROMIUM));
  await page.goto(origin);
});
afterAll(async () => {
  await browser?.close();
  site.close();
  await service.stop();
});

inBrowser('a page of a listed origin may send and read the headers of any operation', async () => {
  const asked = async (headers: Readonly<Record<string, string>>): Promise<unknown> => {
    const options = JSON.stringify({ headers: { 'x-api-key': KEY, ...headers } });
    return page.evaluate(`fetch('${service.url}/messages', ${options}).then(
      ({ status, headers }) => [status, headers.has('etag'), headers.has('x-request-id')])`);
  };
  const whole = await asked({});
  expect(whole).toEqual([200, expect.any(Boolean), true]);
  const headers = {
    'mcp-protocol-version': '2025-06-18',
    'last-event-id': '1',
    'if-none-match': '"a"',
    range: 'bytes=0-',
  };
  expect(await asked(headers)).toEqual(whole);
  // Authorization is the one header that a star does not allow.
  expect(await asked({ authorization: `Bearer ${KEY}` })).toEqual(whole);
});

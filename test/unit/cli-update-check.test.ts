import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { checkUpdate } from '../../src/cli/update-notice.ts';
import { PLAIN } from '../support/plain-context.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const MEGABYTE = Buffer.alloc(1_000_000, ' ');
const MAX_SENT = 64;

/** Writes as long as somebody reads, at most 64 MB. Resolves with the megabytes taken. */
async function pour(response: ServerResponse): Promise<number> {
  let sent = 0;
  while (sent < MAX_SENT && !response.destroyed) {
    sent += 1;
    if (response.write(MEGABYTE)) continue;
    await new Promise<void>((resolve) => {
      response.once('drain', resolve);
      response.once('close', resolve);
    });
  }
  response.end();
  return sent;
}

const server = createServer((_request, response) => {
  poured = pour(response);
});
let poured: Promise<number> | undefined;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('a server of updates whose answer has no end is left after its beginning', async () => {
  mkdirSync(join(folder, 'config'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = `[auth]\napi_key = "a key of at least 16 characters"\n[update]\nurl = "http://127.0.0.1:${port}/"\n`;
  writeFileSync(join(folder, 'config', 'config.toml'), config, { mode: 0o600 });
  const context = {
    ...PLAIN,
    environment: { env: { HOME: folder }, platform: 'linux', homeFolder: folder },
    version: '0.1.0',
    isTerminal: false,
    stdout: () => {},
    stderr: () => {},
  };
  expect(await checkUpdate({ configDir: join(folder, 'config') }, context)).toBe(69);
  expect(await poured).toBeLessThan(MAX_SENT);
});

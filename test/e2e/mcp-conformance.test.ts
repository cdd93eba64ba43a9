import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { node22 } from '../support/node-22.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const SUITE = fileURLToPath(
  new URL('../support/programs/node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
/** Scenarios that cannot pass here, by revision, with the reasons. */
const EXPECTED_FAILURES = fileURLToPath(new URL('../support/mcp-conformance/', import.meta.url));

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

/** Adds the key, which the suite cannot send, and passes on everything else unchanged, including the Host. */
const proxy = createServer((asked, answer) => {
  const headers = { ...asked.headers, 'x-api-key': KEY };
  const passedOn = request(
    { port: service.port, host: '127.0.0.1', path: asked.url, method: asked.method, headers },
    (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    },
  );
  answer.on('close', () => passedOn.destroy());
  passedOn.on('error', () => answer.destroy());
  asked.pipe(passedOn);
});

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: '+15550100', text: 'The kettle is on.' });
  service = await Service.here({ chatDbPath: mac.chatDbPath, settings: { mcp: { allow_owner_key: true } } });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await service.dispose();
  await mac.dispose();
});

const onNode22 = testIf(node22 !== undefined || process.env.CI !== undefined, 'needs make test');

describe('the official conformance suite', () => {
  for (const revision of ['2026-07-28', '2025-11-25']) {
    onNode22(
      `finds only what is listed with its reason (${revision})`,
      async () => {
        const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
        const options = [
          '--url',
          url,
          '--requirements',
          revision,
          '--expected-failures',
          `${EXPECTED_FAILURES}${revision}.yaml`,
        ];
        const child = spawn(node22 ?? 'missing', [SUITE, 'server', ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
        let output = '';
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
        const [code] = (await once(child, 'close')) as [number];
        expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
      },
      120_000,
    );
  }
});

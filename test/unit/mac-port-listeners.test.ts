import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { portState } from '../../installer/port.ts';
import { assertPortFree, portHolder, portListeners } from '../../src/core/mac/port-listeners.ts';
import { commandRunner } from '../../src/core/runtime/command.ts';
import { freePort } from '../support/service.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const run = commandRunner({ PATH: `${folder}:/usr/bin:/bin` });

/** Sets what lsof prints with -F: one field per line. It exits with 1 if it finds nothing. */
function lsof(...lines: readonly string[]): void {
  const path = join(folder, 'lsof');
  const print = lines.map((line) => `echo '${line}'`).join('\n');
  writeFileSync(path, `#!/bin/sh\n${print}\nexit ${lines.length === 0 ? 1 : 0}\n`);
  chmodSync(path, 0o755);
}

const DEV_SERVER = ['p99', 'cnode', 'f21', 'n*:3001'];

describe('programs that listen on a port', () => {
  test('are read with process, name and address, however many there are', async () => {
    lsof(...DEV_SERVER, 'f22', 'n[::1]:3001', 'p100', 'cruby', 'f5', 'n127.0.0.1:3001');
    expect(await portListeners(run, 3001)).toEqual([
      { pid: 99, program: 'node', address: '*' },
      { pid: 99, program: 'node', address: '[::1]' },
      { pid: 100, program: 'ruby', address: '127.0.0.1' },
    ]);
  });

  test.each([
    ['*', '127.0.0.1', true],
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', 'localhost', true],
    ['[::1]', '::1', true],
    ['[::1]', '0.0.0.0', true],
    ['[::1]', '127.0.0.1', false],
    ['192.168.1.5', '127.0.0.1', false],
  ])('one on %s shares the port with a service on %s: %s', async (address, host, shares) => {
    lsof('p99', 'cnode', `n${address}:3001`);
    expect((await portHolder(run, host, 3001)) !== undefined).toBe(shares);
  });

  test('none are found where lsof finds none, or is missing', async () => {
    lsof();
    expect(await portListeners(run, 3001)).toEqual([]);
    expect(await portListeners(commandRunner({ PATH: ABSENT }), 3001)).toEqual([]);
  });
});

test('a port that macOS lets be bound although another program listens on all addresses is taken', async () => {
  const port = await freePort();
  lsof('p99', 'cnode', `n*:${port}`);
  expect(await portState(run, '127.0.0.1', port)).toEqual({ kind: 'taken', pid: 99, program: 'node' });
  await expect(assertPortFree(run, '127.0.0.1', port)).rejects.toMatchObject({
    code: 'port_taken',
    message: `node, process 99 listens on *:${port}.`,
  });
  lsof();
  expect(await portState(run, '127.0.0.1', port)).toEqual({ kind: 'free' });
});

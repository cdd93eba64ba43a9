import { networkInterfaces } from 'node:os';
import { expect, test } from '@jest/globals';
import { OwnListeners } from '../../src/core/runtime/own-listeners.ts';

const PORT = 3284;
const listening = (address: string): OwnListeners =>
  new OwnListeners({ addresses: () => [{ address, family: address.includes(':') ? 'IPv6' : 'IPv4', port: PORT }] });
const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);

test.each(['127.0.0.1', '127.9.9.9', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1'])(
  '%s is this service at its port alone, whatever it listens on',
  (address) => {
    for (const bound of ['127.0.0.1', '::1', '0.0.0.0', '::', '192.0.2.7']) {
      expect([bound, listening(bound).isOwnAddress(address, PORT)]).toEqual([bound, true]);
      expect([bound, listening(bound).isOwnAddress(address, PORT + 1)]).toEqual([bound, false]);
    }
  },
);

test('an address of this machine is this service if it listens there', () => {
  const service = listening('192.0.2.7');
  expect(service.isOwnAddress('192.0.2.7', PORT)).toBe(true);
  expect(service.isOwnAddress('::ffff:192.0.2.7', PORT)).toBe(true);
  expect(service.isOwnAddress('192.0.2.8', PORT)).toBe(false);
  expect(listening('127.0.0.1').isOwnAddress('192.0.2.7', PORT)).toBe(false);
  for (const { address } of own) expect(listening('::').isOwnAddress(address, PORT)).toBe(true);
  expect(listening('::').isOwnAddress('192.0.2.8', PORT)).toBe(false);
});

test('a link-local address with a zone is compared without it', () => {
  expect(listening('fe80::1').isOwnAddress('fe80::1%lo0', PORT)).toBe(true);
});

test('a name is looked up, and only at a port of the service', async () => {
  const service = listening('127.0.0.1');
  // The system looks this up as 127.0.0.1, although it is no spelling of an address that Node knows.
  const name = { host: '127.1', port: PORT };
  expect(service.isNamed(name)).toBe(false);
  expect(await service.isReachedBy(name)).toBe(true);
  expect(await service.isReachedBy({ ...name, port: PORT + 1 })).toBe(false);
  expect(await service.isReachedBy({ host: 'no-such-host.invalid', port: PORT })).toBe(false);
});

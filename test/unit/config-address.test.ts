import { expect, test } from '@jest/globals';
import { isOwnUrl } from '../../src/core/config/service-address.ts';

const server = { host: '127.0.0.1', port: 3001, allowedHosts: [] };
const listed = { ...server, allowedHosts: ['mini.tailnet.ts.net', 'messages.example.net:8443', '[fd00::1]'] };

test.each([
  ['http://127.0.0.1:3001', server],
  ['http://localhost:3001/', server],
  ['http://127.9.9.9:3001', server],
  ['http://[::1]:3001', server],
  ['http://LOCALHOST:3001/console', server],
  ['https://localhost:3001', server],
  ['http://192.168.1.5:3001', { ...server, host: '192.168.1.5' }],
  ['http://[fd00::1]:3001', { ...server, host: 'fd00:0::1' }],
  ['http://mini.tailnet.ts.net:3001', listed],
  ['https://mini.tailnet.ts.net', listed],
  ['https://messages.example.net:8443', listed],
  ['https://messages.example.net', listed],
  ['http://[fd00::1]:3001', listed],
  ['http://127.0.0.1', { ...server, port: 80 }],
])('the key of config.toml may go to %s', (url, own) => {
  expect(isOwnUrl(url, own)).toBe(true);
});

test.each([
  ['http://127.0.0.1:3292', server],
  ['http://127.0.0.1', server],
  ['https://localhost', server],
  ['http://127.0.0.1:3001@evil.example', server],
  ['http://127.0.0.1.evil.example:3001', server],
  ['http://localhost.evil.example:3001', server],
  ['http://evil.example:3001', server],
  ['http://192.168.1.5:3001', server],
  ['http://evil.example', listed],
  ['http://mini.tailnet.ts.net', listed],
  ['http://mini.tailnet.ts.net:8443', listed],
  ['http://messages.example.net:8444', listed],
  ['http://127.0.0.1:443', listed],
  ['http://127.0.0.1:4000', { ...server, port: 0 }],
])('the key of config.toml never goes to %s', (url, own) => {
  expect(isOwnUrl(url, own)).toBe(false);
});

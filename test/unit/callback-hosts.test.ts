import { expect, test } from '@jest/globals';
import { callbackHost, mayCallBack } from '../../src/core/model/callback-hosts.ts';

test.each([
  ['NAS.local', 'nas.local'],
  ['nas.local:5678', 'nas.local:5678'],
  ['nas.local:80', 'nas.local:80'],
  ['192.168.1.20', '192.168.1.20'],
  ['[FD00::1]:8123', '[fd00::1]:8123'],
  ['bücher.example', undefined],
  ['*.example.net', undefined],
  ['http://nas.local', undefined],
  ['nas.local/path', undefined],
  ['user@nas.local', undefined],
  ['nas.local:0', undefined],
  ['nas.local:99999', undefined],
  ['nas.local#', undefined],
  ['', undefined],
  ['-rf', undefined],
  ['a b', undefined],
])('a host that the owner names as %j is kept as %j', (written, kept) => {
  expect(callbackHost(written)).toBe(kept);
});

test.each([
  ['http://127.0.0.1:9/', true],
  ['http://localhost/x', true],
  ['http://nas.local:5678/hook', true],
  ['http://nas.local.:5678/hook', true],
  ['http://nas.local:5679/hook', false],
  ['http://any.example:1/', true],
  ['https://any.example/', true],
  ['http://any.example.evil.net/', false],
  ['http://evil.net/?any.example', false],
  ['http://nas.local@evil.net:5678/', false],
  ['http://10.0.0.1/', false],
])('a key with a port at one host and any port at another may have %s called: %p', (url, may) => {
  expect(mayCallBack(['nas.local:5678', 'any.example'], url)).toBe(may);
});

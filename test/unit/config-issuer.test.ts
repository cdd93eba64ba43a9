import { expect, test } from '@jest/globals';
import { checkConfig } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import { FEATURES } from '../../src/features/list.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ISSUER = 'https://messages.example';
const folder = temporaryFolder();

function check(server: object, issuer = ISSUER, apiKey = 'a key of more than 16 letters') {
  const tables = { server, auth: { api_key: apiKey }, oauth: { issuer } };
  return checkConfig(tables, folder, processEnvironment({ HOME: folder }, 'darwin', FEATURES));
}

test.each(['https://localhost', 'https://127.0.0.1', 'https://[::1]', 'http://messages.example', `${ISSUER}/`])(
  'an issuer of %s is refused: programs of this machine would find nothing but sign-in',
  (issuer) => {
    expect(check({}, issuer)).toMatchObject({ mistakes: [expect.stringContaining('oauth.issuer is')] });
  },
);

test('a key that can be guessed is refused where strangers may try', () => {
  const short = 'fifteen letters';
  expect(check({}, ISSUER, short)).toMatchObject({ mistakes: [expect.stringContaining('strangers can try keys')] });
  expect(JSON.stringify(check({}, ISSUER, short))).not.toContain(short);
  expect(check({}, '', short)).toMatchObject({ config: {} });
});

test('settings that contradict the issuer are named', () => {
  expect(check({}).warnings).toEqual([]);
  expect(check({ allowed_hosts: ['messages.example:8443', 'other.example'] }).warnings).toEqual([
    expect.stringContaining('server.allowed_hosts contains messages.example'),
  ]);
  expect(check({ host: '0.0.0.0' }).warnings).toEqual([expect.stringContaining('Set server.host to 127.0.0.1')]);
  expect(check({ host: '::1' }).warnings).toEqual([]);
});

import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { DEFAULT_CAPS, PRESETS } from '../../src/core/model/key.ts';

const WIZARD = readFileSync(new URL('../../src/features/console/views/keys/key-wizard.js', import.meta.url), 'utf8');
const PURPOSE = /preset: '(\w+)',\s+title:[^[]*scopes: \[([^\]]*)\],\s+approval: '(\w+)'/g;

test('a key of the console has the rights of the preset that the command line and the API give', () => {
  const offered = [...WIZARD.matchAll(PURPOSE)].map(([, preset = '', scopes = '', approval]) => [
    preset,
    { scopes: [...scopes.matchAll(/\w+/g)].map(([scope]) => scope), approval },
  ]);
  expect(Object.fromEntries(offered)).toEqual(PRESETS);
});

test('a key of the console has the caps that the command line and the API give', () => {
  const caps = /caps: \{([^}]+)\}/.exec(WIZARD)?.[1] ?? '';
  const given = [...caps.matchAll(/(\w+): (\d+)/g)].map(([, name, value]) => [name, Number(value)]);
  expect(Object.fromEntries(given)).toEqual(DEFAULT_CAPS);
});
